import { RedisChannel } from './channel.ts';
import type { Partition } from './partition.ts';
import { RECENT } from './scripts/events.ts';
import type { Gap } from './sequence.ts';
import { type Numbered, readNumbered } from './stream-message.ts';

/** The limit of channels that one question names. For more, it reads all recent events. */
const NAMED_MAX = 1000;

interface Missed {
  readonly channel: RedisChannel;
  readonly gap: Gap;
  readonly events: Numbered[];
}

/**
 * Gives the channels of a partition the events that they have missed. Returns how far back Redis has all events, in
 * milliseconds; older ones are lost.
 */
export async function catchUp(partition: Partition): Promise<number> {
  const missed = new Map<string, Missed>();
  for (const channel of partition.topics) {
    if (!(channel instanceof RedisChannel) || channel.gap === undefined) continue;
    missed.set(channel.topic, { channel, gap: channel.gap, events: [] });
  }
  if (missed.size === 0) return Number.POSITIVE_INFINITY;
  const named = missed.size > NAMED_MAX ? [] : [...missed];
  const wanted = named.flatMap(([topic, { gap }]) => [topic, gap.after]);
  let reachMs = Number.POSITIVE_INFINITY;
  for (let position = '0'; position !== ''; ) {
    const [next, reach, rows] = await partition.call(RECENT, [position, ...wanted]);
    const page = rows as readonly string[];
    for (let n = 0; n + 1 < page.length; n += 2) {
      missed.get(page[n] ?? '')?.events.push(readNumbered(page[n + 1] ?? ''));
    }
    reachMs = Math.min(reachMs, Number(reach));
    position = String(next);
  }
  for (const { channel, gap, events } of missed.values()) channel.fill(gap, events);
  return reachMs;
}
