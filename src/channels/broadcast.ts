import type { Topic } from './event.ts';
import type { Audience, SendOptions } from './ports.ts';

/** What a broadcast goes through; the hub is one. */
export interface Broadcaster {
  readonly audience: Audience;
}

/**
 * Sends a frame to the subscribers of a topic, and returns to how many. Everything that subscribers of a channel or watchers
 * of a user hear goes through here; nothing else sends to an audience. It never publishes, so nothing can loop.
 *
 * `makeFrame` is called once however many subscribe, and not at all if nobody does. No JavaScript runs per WebSocket.
 */
export function broadcast(
  { audience }: Broadcaster,
  topic: Topic,
  makeFrame: () => string,
  options?: SendOptions,
): number {
  return audience.send(topic, makeFrame, options);
}
