import { describe, expect, it } from 'bun:test';
import { topicOf } from '../../src/channels/event.ts';
import type { EventCache } from '../../src/channels/ports.ts';
import type { Clock } from '../../src/runtime/ports.ts';
import { appWith, channel } from './values.ts';

/** What the core expects of any event cache. `open` gives an empty one that goes by the clock. */
export function eventCacheContract(
  name: string,
  open: (clock: Clock) => Promise<EventCache>,
): void {
  describe(`${name} keeps the event cache contract`, () => {
    const topic = topicOf(appWith({}), channel('cache-scores'));
    const event = { name: 'goal', data: '{"score":"1:0"}', expiresAt: 2_000 };

    it('returns the event that was put last', async () => {
      const cache = await open({ now: () => 1_000 });
      await cache.put(topic, { ...event, data: 'older' });
      await cache.put(topic, event);
      expect(await cache.get(topic)).toEqual(event);
    });

    it('keeps the channels of different apps apart', async () => {
      const cache = await open({ now: () => 1_000 });
      await cache.put(topic, event);
      expect(
        await cache.get(topicOf(appWith({}, 'other'), channel('cache-scores'))),
      ).toBeUndefined();
    });

    it('forgets an event when its time has come, and not before', async () => {
      let now = 1_999;
      const cache = await open({ now: () => now });
      await cache.put(topic, event);
      expect(await cache.get(topic)).toEqual(event);
      now = 2_000;
      expect(await cache.get(topic)).toBeUndefined();
    });

    it('starts the time anew when an event is put again', async () => {
      let now = 1_000;
      const cache = await open({ now: () => now });
      await cache.put(topic, event);
      await cache.put(topic, { ...event, expiresAt: 5_000 });
      now = 4_999;
      expect(await cache.get(topic)).toMatchObject({ name: 'goal' });
    });
  });
}
