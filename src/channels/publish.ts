import { broadcast } from './broadcast.ts';
import { ask } from './engine-failure.ts';
import { type ChannelEvent, topicOf } from './event.ts';
import type { Hub } from './hub.ts';
import { after, type MaybePromise } from './maybe-promise.ts';
import { eventMessage } from './wire.ts';

/**
 * How long a cache channel remembers its last event. Milliseconds.
 * Source: Channels protocol, §10.
 */
export const CACHE_TTL_MS = 30 * 60 * 1000;

function deliver(hub: Hub, { app, channel, name, data, except }: ChannelEvent): void {
  const makeFrame = () => eventMessage(name, channel.text, data);
  const receivers = broadcast(hub, topicOf(app, channel), makeFrame, { except, mayWait: true });
  hub.usage.charge(app, receivers, 'backend');
}

/**
 * Sends an event to all subscribers of its channel, and remembers it if the channel is a cache channel.
 * With an engine in memory this is done when it returns.
 */
export function publish(hub: Hub, event: ChannelEvent): MaybePromise<void> {
  hub.meter.count('eventsPublished');
  if (!event.channel.cached) return deliver(hub, event);
  // Remembered first, so that a client who subscribes meanwhile gets it twice rather than never.
  const topic = topicOf(event.app, event.channel);
  hub.lifecycle.cached(topic);
  const cached = {
    name: event.name,
    data: event.data,
    expiresAt: hub.clock.now() + CACHE_TTL_MS,
  };
  const remembered = ask('put', () => hub.cache.put(topic, cached));
  return after(remembered, () => deliver(hub, event));
}
