import { textsOf } from '../link/reply.ts';
import type { Partition } from '../partition.ts';
import { RECENT } from '../scripts/events.ts';
import { NUMBERS } from '../scripts/queries.ts';
import { RedisChannel } from './channel.ts';
import type { Gap } from './sequence.ts';

/** The limit of channels in one request. For more channels, all recent events are read. */
const NAMED_MAX = 1000;

interface Missed {
  readonly channel: RedisChannel;
  readonly gap: Gap;
  /** As they were published. */
  readonly events: string[];
}

export interface MissedEvents {
  /** How far back Redis has all events; older ones are lost. Milliseconds. */
  readonly reachMs: number;
  /** Delivers missed events to their channels. If some are lost, it first closes the connections that can resume. */
  readonly fill: (found: { readonly isComplete: boolean }) => void;
}

/** Reads the events that the channels of a partition have missed. */
export async function readMissed(partition: Partition): Promise<MissedEvents> {
  const missed = new Map<string, Missed>();
  for (const channel of partition.topics) {
    if (!(channel instanceof RedisChannel) || channel.gap === undefined) continue;
    missed.set(channel.topic, { channel, gap: channel.gap, events: [] });
  }
  let reachMs = Number.POSITIVE_INFINITY;
  if (missed.size === 0) return { reachMs, fill: () => undefined };
  // Read the numbers first, so that the events read next include all events up to them.
  const numbers = await readNumbers(partition, [...missed.keys()]);
  const named = missed.size > NAMED_MAX ? [] : [...missed];
  const wanted = named.flatMap(([topic, { gap }]) => [topic, gap.after]);
  for (let position = '0'; position !== ''; ) {
    const [next, reach, rows] = await partition.call(RECENT, [position, ...wanted]);
    const page = textsOf(rows);
    for (let n = 0; n + 1 < page.length; n += 2) {
      missed.get(page[n] ?? '')?.events.push(page[n + 1] ?? '');
    }
    reachMs = Math.min(reachMs, Number(reach));
    position = String(next);
  }
  return {
    reachMs: [...missed.values()].some(({ channel }) => channel.mayMiss)
      ? reachMs
      : Number.POSITIVE_INFINITY,
    fill({ isComplete }) {
      for (const [topic, { channel, gap, events }] of missed) {
        if (!isComplete && channel.mayMiss) channel.lost();
        channel.fill(gap, { events, upTo: numbers.get(topic) ?? 0 });
      }
    },
  };
}

/** Reads the numbers of the last messages of topics. */
async function readNumbers(
  partition: Partition,
  topics: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const numbers = new Map<string, number>();
  for (let n = 0; n < topics.length; n += NAMED_MAX) {
    const some = topics.slice(n, n + NAMED_MAX);
    const found = await partition.call(NUMBERS, some);
    for (const [index, topic] of some.entries()) numbers.set(topic, Number(found[index] ?? 0));
  }
  return numbers;
}
