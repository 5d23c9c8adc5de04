import { describe, expect, it } from 'bun:test';
import { openSocketBytes } from './socket-bytes.ts';

/** Reads the files of a machine. */
const machine = (files: Record<string, string>) => (file: string) => files[file];

const STAT = 'anon 104857600\nsock 1048576\nsock_pressure 7\n';

describe('what the kernel holds for sockets', () => {
  it('is read from the container itself, with control groups of version 2', () => {
    const files = {
      '/proc/self/cgroup': '0::/\n',
      '/sys/fs/cgroup/memory.stat': STAT,
    };
    expect(openSocketBytes(machine(files))?.()).toBe(1_048_576);
    files['/sys/fs/cgroup/memory.stat'] = 'sock 2097152\n';
    expect(openSocketBytes(machine(files))?.()).toBe(2_097_152);
  });

  it('is that of the innermost group', () => {
    const files = {
      '/proc/self/cgroup': '0::/system.slice/fanfare.service\n',
      '/sys/fs/cgroup/system.slice/memory.stat': STAT,
      '/sys/fs/cgroup/system.slice/fanfare.service/memory.stat': 'sock 4096\n',
    };
    expect(openSocketBytes(machine(files))?.()).toBe(4_096);
  });

  it('is read from a file of its own, with version 1', () => {
    const files = {
      '/proc/self/cgroup': '4:memory:/docker/a\n1:cpu:/docker/a\n',
      '/sys/fs/cgroup/memory/memory.stat': 'cache 1\nrss 2\n',
      '/sys/fs/cgroup/memory/memory.kmem.tcp.usage_in_bytes': '8192\n',
    };
    expect(openSocketBytes(machine(files))?.()).toBe(8_192);
  });

  it('is unknown without control groups', () => {
    expect(openSocketBytes(machine({}))).toBeUndefined();
    expect(openSocketBytes(machine({ '/proc/self/cgroup': '0::/\n' }))).toBeUndefined();
  });
});
