import { readFileSync, writeFileSync } from 'node:fs';
import { messageOf } from '../../src/runtime/error-code.ts';

/** The autogroup of a process: its session, and the nice value of that session, from -20 (highest priority) to 19. */
const autogroupOf = (pid: number | 'self'): string => `/proc/${pid}/autogroup`;
const MOST = -20;

/** Reads the nice value of a session as the kernel writes it, such as `/autogroup-42 nice 0`. */
export function parseNice(autogroup: string): number {
  const nice = /nice (-?\d+)\s*$/.exec(autogroup)?.[1];
  if (nice === undefined) throw new Error(`it says ${JSON.stringify(autogroup)}`);
  return Number(nice);
}

/**
 * Raises the priority of this session above all others on this machine until this process ends. Returns a description
 * of the result for people. Another process that uses the server's core for 20 ms once a second determines every 99th
 * percentile, and `nice` of a process only counts within its session. Needs privileges.
 */
export function goFirst(): string {
  try {
    const own = autogroupOf('self');
    const before = parseNice(readFileSync(own, 'latin1'));
    writeFileSync(own, String(MOST));
    process.once('exit', () => writeFileSync(own, String(before)));
    return 'before all other sessions';
  } catch (error) {
    const why = messageOf(error);
    return `no priority: others may disturb it (${why})`;
  }
}

/** The same for the session of a child, which is its own. Does nothing where this process may not. */
export function letGoFirst(pid: number): void {
  try {
    writeFileSync(autogroupOf(pid), String(MOST));
  } catch {
    // Then others disturb it.
  }
}
