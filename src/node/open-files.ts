import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { StartFailed } from './start-failed.ts';

/** The limit of file descriptors of this process, and its shares. */
export interface OpenFiles {
  /** The limit of the kernel. */
  readonly limit: number;
  /** Descriptors that the push listener may use. */
  readonly push: number;
  /**
   * At this number of descriptors in use, without push connections, the channels listener stops accepting
   * connections.
   */
  readonly threshold: number;
  /** WebSocket connections: slightly fewer, so that a client can still be sent the reason why it is refused. */
  readonly connections: number;
}

/** The push listener gets a fifth of all descriptors, up to this number. */
const PUSH_MAX = 40_000;

/**
 * The store, webhooks, gateways and files get a tenth, within these limits. They use less than half of it; the other
 * half stays free.
 */
const OWN_MIN = 64;
const OWN_MAX = 2_000;

/** With fewer, the descriptors of the server itself and a few clients would use up all of them. */
const LEAST = 128;

/** Service managers and containers allow more. With fewer, somebody has probably set the limit of a shell. */
const USUAL_MIN = 4_096;

/** How to raise the limit. */
export const RAISE_LIMIT = 'raise LimitNOFILE of the unit, or ulimit -n of the shell';

/** Whether so few descriptors are allowed that it is probably a mistake. */
export function areFew({ limit }: Pick<OpenFiles, 'limit'>): boolean {
  return limit < USUAL_MIN;
}

/** Throws `StartFailed` if a server cannot run with so few descriptors. */
export function requireOpenFiles(limit = readLimit()): void {
  if (limit === undefined || limit >= LEAST) return;
  const message = `The limit of open files is ${limit}, and a server needs ${LEAST} or more: ${RAISE_LIMIT}`;
  throw new StartFailed({ exitCode: 2, message });
}

/** Reads the limit and divides it; `undefined` on systems other than Linux. */
export function readOpenFiles(): OpenFiles | undefined {
  const limit = readLimit();
  return limit === undefined ? undefined : shareOpenFiles(limit);
}

/** Divides a number of descriptors. */
export function shareOpenFiles(limit: number): OpenFiles {
  const push = Math.min(PUSH_MAX, Math.floor(limit / 5));
  const own = Math.min(OWN_MAX, Math.max(OWN_MIN, Math.floor(limit / 10)));
  const connections = Math.max(1, Math.floor((limit - push - own) * 0.95));
  return { limit, push, threshold: limit - push - Math.ceil(own / 2), connections };
}

/** Bun raises the soft limit to the hard limit at its start, so both are equal. */
function readLimit(): number | undefined {
  let limits: string;
  try {
    limits = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // Only Linux has this file.
    return undefined;
  }
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}

/**
 * Counts the descriptors in use by all threads, in a few microseconds. On a kernel that does not count them (before Linux
 * 6.2), returns 0, or `limit` if none is left.
 */
export function countOpenFiles(limit: number): number {
  const { size } = statSync('/proc/self/fd');
  return size > 0 ? size : probe(limit);
}

function probe(limit: number): number {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return 0;
  } catch {
    // Opening this file can only fail for lack of descriptors.
    return limit;
  }
}
