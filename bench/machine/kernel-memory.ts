import { readFileSync } from 'node:fs';

const KIBIBYTE = 1024;
const PAGE_BYTES = 4096;

function meminfo(name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(
    readFileSync('/proc/meminfo', 'utf8'),
  )?.[1];
  if (found === undefined) throw new Error(`/proc/meminfo has no ${name}`);
  return Number(found) * KIBIBYTE;
}

/** What this machine can still give to programs. */
export const availableBytes = (): number => meminfo('MemAvailable');

/**
 * What the kernel holds for connections of all processes: its own structures, and what lies in sockets. Other programs
 * that open many files change it, too.
 */
export function kernelBytes(): number {
  const pages = /^TCP: .* mem (\d+)$/m.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1];
  return meminfo('Slab') + Number(pages ?? 0) * PAGE_BYTES;
}
