import { describe, expect, it } from 'bun:test';
import { memoryLimit } from './memory-limit.ts';

const GIB = 2 ** 30;
const NO_LIMIT_V1 = '9223372036854771712\n';

function limitWith(files: Readonly<Record<string, string>>, setting = 0) {
  return memoryLimit(setting, { totalBytes: 8 * GIB, read: (file) => files[file] });
}

describe('the memory that a server may use', () => {
  it.each<[string, Record<string, string>, number]>([
    ['no control group', {}, 8 * GIB],
    ['no limit', { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': 'max\n' }, 8 * GIB],
    [
      'the limit of a container',
      { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': '268435456\n' },
      268_435_456,
    ],
    [
      'the limit at which the kernel slows down',
      {
        '/proc/self/cgroup': '0::/\n',
        '/sys/fs/cgroup/memory.max': '268435456\n',
        '/sys/fs/cgroup/memory.high': '201326592\n',
      },
      201_326_592,
    ],
    [
      'the smaller limit of a parent',
      {
        '/proc/self/cgroup': '0::/system.slice/fanfare.service\n',
        '/sys/fs/cgroup/system.slice/memory.max': '536870912\n',
        '/sys/fs/cgroup/system.slice/fanfare.service/memory.max': '1073741824\n',
      },
      536_870_912,
    ],
    [
      'more than the machine has',
      { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': String(64 * GIB) },
      8 * GIB,
    ],
    [
      'version 1 without a limit',
      {
        '/proc/self/cgroup': '4:memory:/a\n0::/\n',
        '/sys/fs/cgroup/memory/a/memory.limit_in_bytes': NO_LIMIT_V1,
      },
      8 * GIB,
    ],
    [
      'version 1, of a parent',
      {
        '/proc/self/cgroup': '9:cpu:/b\n4:memory:/a/b\n',
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': NO_LIMIT_V1,
        '/sys/fs/cgroup/memory/a/memory.limit_in_bytes': '536870912\n',
        '/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes': NO_LIMIT_V1,
      },
      536_870_912,
    ],
    [
      'a container of version 1 that sees its own group as the root',
      {
        '/proc/self/cgroup': '4:memory:/docker/0123\n',
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': '314572800\n',
      },
      314_572_800,
    ],
    [
      'both versions, the memory in the first',
      {
        '/proc/self/cgroup': '4:memory:/a\n0::/a\n',
        '/sys/fs/cgroup/unified/a/memory.max': 'max\n',
        '/sys/fs/cgroup/memory/a/memory.limit_in_bytes': '314572800\n',
      },
      314_572_800,
    ],
  ])('is read: %s', (_, files, bytes) => {
    const from = bytes === 8 * GIB ? 'machine' : 'container';
    expect(limitWith(files)).toEqual({ bytes, from });
  });

  it('is the setting if there is one', () => {
    const files = { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': '268435456\n' };
    expect(limitWith(files, 123_456_789)).toEqual({ bytes: 123_456_789, from: 'setting' });
  });
});
