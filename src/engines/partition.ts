import type { App } from '../channels/app.ts';

/** Topics are distributed over this many partitions, and partitions over loops or Redis servers. */
export const PARTITIONS = 64;

/** Returns the partition of a topic. */
export function partitionOf(app: Pick<App, 'id'>, channel: string): number {
  return Bun.hash.xxHash32(`${app.id}/${channel}`) % PARTITIONS;
}
