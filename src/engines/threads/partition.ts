import type { App } from '../../channels/app.ts';
import { partitionOf } from '../partition.ts';
import type { Loop } from '../shares.ts';

/** Returns the loop that is the home of a topic. */
export function homeOf(app: App, channel: string, loops: number): Loop {
  return partitionOf(app, channel) % loops;
}
