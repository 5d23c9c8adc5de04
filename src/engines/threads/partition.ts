import type { App } from '../../channels/app.ts';
import type { Loop } from '../shares.ts';

/** Topics are spread over this many partitions, and partitions over loops. */
const PARTITIONS = 64;

/** Returns the loop that is the home of a topic. */
export function homeOf(app: App, channel: string, loops: number): Loop {
  return (Bun.hash.xxHash32(`${app.id}/${channel}`) % PARTITIONS) % loops;
}
