import { describe, expect, it } from 'bun:test';
import { threadCount, usableCores } from './thread-count.ts';

const PLENTY = 64 * 2 ** 30;

/** A machine with these files. */
function machine(cores: number, files: Readonly<Record<string, string>> = {}) {
  return { platform: 'linux', cores, read: (file: string) => files[file] } as const;
}

describe('the number of realtime threads', () => {
  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 3],
    [16, 15],
    [200, 64],
  ])(
    'is one on one and two cores, and above that leaves one core for other work: %p cores, %p threads',
    (cores, threads) => {
      expect(threadCount('auto', PLENTY, machine(cores))).toBe(threads);
    },
  );

  it.each([
    [256, 1],
    [511, 1],
    [512, 2],
    [600, 3],
    [1_024, 10],
    [4_096, 58],
    [4_480, 64],
  ])('is smaller with little memory: %p MiB, %p threads', (mebibytes, threads) => {
    expect(threadCount('auto', mebibytes * 1_048_576, machine(200))).toBe(threads);
  });

  it('is the number in the setting if there is one', () => {
    expect(threadCount(5, PLENTY, machine(2))).toBe(5);
  });

  it.each(['darwin', 'win32'] as const)('is 1 where a port cannot be shared: %s', (platform) => {
    expect(threadCount('auto', PLENTY, { ...machine(8), platform })).toBe(1);
  });
});

const v1 = '/sys/fs/cgroup/cpu,cpuacct';

describe('the cores that a process may use', () => {
  it.each<[string, number, Record<string, string>]>([
    ['no control group', 8, {}],
    ['no quota', 8, { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' }],
    [
      'the quota of a container',
      2,
      { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '250000 100000\n' },
    ],
    [
      'a quota below one core',
      1,
      { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '50000 100000\n' },
    ],
    [
      'a quota of a parent',
      3,
      {
        '/proc/self/cgroup': '0::/system.slice/fanfare.service\n',
        '/sys/fs/cgroup/system.slice/cpu.max': '300000 100000\n',
        '/sys/fs/cgroup/system.slice/fanfare.service/cpu.max': '600000 100000\n',
      },
    ],
    [
      'a quota above the cores',
      8,
      { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': '1600000 100000\n' },
    ],
    [
      'no quota in version 1',
      8,
      {
        '/proc/self/cgroup': '4:memory:/\n3:cpu,cpuacct:/\n',
        [`${v1}/cpu.cfs_quota_us`]: '-1\n',
        [`${v1}/cpu.cfs_period_us`]: '100000\n',
      },
    ],
    [
      'a quota in version 1, in a container that sees the path of the host',
      4,
      {
        '/proc/self/cgroup': '3:cpu,cpuacct:/docker/0123\n',
        [`${v1}/cpu.cfs_quota_us`]: '400000\n',
        [`${v1}/cpu.cfs_period_us`]: '100000\n',
      },
    ],
    [
      'a quota in version 2 beside version 1',
      2,
      {
        '/proc/self/cgroup': '4:memory:/\n0::/a\n',
        '/sys/fs/cgroup/unified/a/cpu.max': '200000 100000\n',
      },
    ],
  ])('are limited by %s: %p', (_name, cores, files) => {
    expect(usableCores(machine(8, files))).toBe(cores);
  });
});
