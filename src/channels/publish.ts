import { type ChannelEvent, topicOf } from './event.ts';
import type { Hub } from './hub.ts';
import { after, type MaybePromise } from './maybe-promise.ts';
import { eventMessage } from './wire.ts';

/**
 * How long a cache channel remembers its last event. Milliseconds.
 * Source: Channels protocol, §10.
 */
export const CACHE_TTL_MS = 30 * 60 * 1000;

/**
 * Hands an event to this node's subscribers. It never publishes, so nothing can loop.
 * The frame is built once however many listen, and no JavaScript runs per subscriber.
 */
function deliver(hub: Hub, { app, channel, name, data, except }: ChannelEvent): void {
  const makeFrame = () => eventMessage(name, channel.text, data);
  hub.usage.charge(app, hub.audience.sendSoon(topicOf(app, channel), makeFrame, except), 'backend');
}

/**
 * Sends an event to everyone who listens to its channel.
 * With an engine in memory it is done when this returns; otherwise once the event is remembered.
 */
export function publish(hub: Hub, event: ChannelEvent): MaybePromise<void> {
  hub.meter.count('eventsPublished');
  if (!event.channel.cached) return deliver(hub, event);
  // Remembered first: someone who subscribes while this runs then hears it twice rather than never.
  const topic = topicOf(event.app, event.channel);
  hub.lifecycle.cached(topic);
  const remembered = hub.cache.put(topic, {
    name: event.name,
    data: event.data,
    expiresAt: hub.clock.now() + CACHE_TTL_MS,
  });
  return after(remembered, () => deliver(hub, event));
}
