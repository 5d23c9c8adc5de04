import { closeSync, openSync, readFileSync, statSync } from 'node:fs';

/** How many descriptors this process may have, and how they are shared out. */
export interface OpenFiles {
  /** What the kernel allows. */
  readonly limit: number;
  /** Descriptors that the push listener may use. */
  readonly push: number;
  /** Descriptors in use, without those of push connections, from which on the channels listener takes no new ones. */
  readonly threshold: number;
  /** WebSocket connections in all: a little fewer, so that one more can still be told why it is refused. */
  readonly connections: number;
}

/** A fifth of all descriptors, at most so many, is kept for the push listener. */
const PUSH_MAX = 40_000;

/**
 * A tenth, at least and at most so many, is kept for the store, webhooks, gateways and files. They use less than half
 * of it, and the other half always stays free.
 */
const OWN_MIN = 64;
const OWN_MAX = 2_000;

/** `undefined` where the limit is not known: on other systems than Linux. */
export function readOpenFiles(): OpenFiles | undefined {
  const limit = readLimit();
  return limit === undefined ? undefined : shareOpenFiles(limit);
}

/** Shares out so many descriptors. */
export function shareOpenFiles(limit: number): OpenFiles {
  const push = Math.min(PUSH_MAX, Math.floor(limit / 5));
  const own = Math.min(OWN_MAX, Math.max(OWN_MIN, Math.floor(limit / 10)));
  const connections = Math.max(1, Math.floor((limit - push - own) * 0.95));
  return { limit, push, threshold: limit - push - Math.ceil(own / 2), connections };
}

/** Bun raises the soft limit to the hard one when it starts, so they are the same. */
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
 * Descriptors in use by all threads. Costs some microseconds, whatever their number. Where the kernel does not count
 * them (before Linux 6.2), it is 0 until there is none left, and then `limit`.
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
    // Nothing else can be wrong with this file.
    return limit;
  }
}
