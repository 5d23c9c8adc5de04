import { groupsOf, type ReadFile, readIfThere } from '../control-groups.ts';

/** Where the kernel shows what the sockets of a control group take: of version 2, and of version 1. */
const SOURCES: readonly { readonly file: string; readonly pattern: RegExp }[] = [
  { file: 'memory.stat', pattern: /^sock (\d+)$/m },
  { file: 'memory.kmem.tcp.usage_in_bytes', pattern: /^(\d+)$/m },
];

/**
 * Returns a function that reads the bytes that the kernel holds for the TCP connections of this process's control group, those
 * that are closed and not yet gone included. `undefined` without such a group: the kernel then bounds them itself, for all
 * processes together, by `net.ipv4.tcp_mem`.
 *
 * Version 1 counts them only in a group with a limit for them, and never towards the limit of its memory.
 */
export function openSocketBytes(read: ReadFile = readIfThere): (() => number) | undefined {
  const groups = groupsOf(read, 'memory').toReversed();
  for (const group of groups) {
    for (const { file, pattern } of SOURCES) {
      const path = `${group}/${file}`;
      const bytes = () => {
        const [, digits] = pattern.exec(read(path) ?? '') ?? [];
        return digits === undefined ? undefined : Number(digits);
      };
      if (bytes() !== undefined) return () => bytes() ?? 0;
    }
  }
  return undefined;
}
