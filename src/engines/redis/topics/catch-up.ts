import { type Reply, textsOf } from '../link/reply.ts';
import type { LoopParts } from '../loop.ts';
import type { Partition } from '../partition.ts';
import { NUMBERS } from '../scripts/queries.ts';
import { RECENT_OF_ALL, RECENT_OF_APPS } from '../scripts/recent-events.ts';
import { RedisChannel } from './channel.ts';
import type { Gap } from './sequence.ts';

/** The limit of channels in one request. For more channels, all recent events of their apps are read. */
const NAMED_MAX = 1000;

/** The limit of apps in one request. */
const APPS_MAX = 100;

interface Missed {
  readonly channel: RedisChannel;
  readonly gap: Gap;
  /** As they were published. Servers of two releases may have kept an event in two places. */
  readonly events: Set<string>;
}

/** The recent events of one app, as far as they have been read. */
interface AppEvents {
  readonly topics: (readonly [topic: string, Missed])[];
  forgotten: string;
  /** Empty at the end. */
  position: string;
  /** How far back Redis has all events; older ones are lost. Milliseconds. */
  reachMs: number;
}

/**
 * Delivers missed events to their channels. Where some were missed `missedMs` ago and are lost, it first reports that.
 * Returns in how many channels some are lost.
 */
export type Fill = (missedMs: number) => number;

/** Reads the events that the channels of a partition have missed. */
export async function readMissed(
  partition: Partition,
  eventsLost: LoopParts['eventsLost'],
): Promise<Fill> {
  const missed = new Map<string, Missed>();
  for (const channel of partition.topics) {
    if (!(channel instanceof RedisChannel) || channel.gap === undefined) continue;
    missed.set(channel.topic, { channel, gap: channel.gap, events: new Set() });
  }
  if (missed.size === 0) return () => 0;
  // Read the numbers first, so that the events read next include all events up to them.
  const numbers = await readNumbers(partition, [...missed.keys()]);
  const { apps, hasOldNodes } = await readApps(partition, missed);
  // Servers of earlier releases keep what they publish in one list of all apps.
  const reachOfAllMs = hasOldNodes ? await readAll(partition, missed) : Number.POSITIVE_INFINITY;
  return (missedMs) => {
    const lost = [...apps.values()]
      .filter(({ reachMs }) => Math.min(reachMs, reachOfAllMs) < missedMs)
      .flatMap(({ topics }) => topics.map(([, { channel }]) => channel))
      .filter(({ mayMiss }) => mayMiss);
    // Before anybody gets a later event.
    if (lost.length > 0) eventsLost(lost.map((channel) => channel.lostEvents('all')));
    for (const [topic, { channel, gap, events }] of missed) {
      channel.fill(gap, { events: [...events], upTo: numbers.get(topic) ?? 0 });
    }
    return lost.length;
  };
}

async function readApps(partition: Partition, missed: ReadonlyMap<string, Missed>) {
  const byApp = Map.groupBy(missed, ([topic]) => topic.slice(0, topic.indexOf('/')));
  const apps = new Map(
    [...byApp].map(([id, topics]): [string, AppEvents] => [
      id,
      { topics, forgotten: '0', position: '0', reachMs: Number.POSITIVE_INFINITY },
    ]),
  );
  let hasOldNodes = false;
  for (let open = [...apps]; open.length > 0; ) {
    const some = open.slice(0, APPS_MAX);
    const wanted = wantedOf(some.flatMap(([, { topics }]) => topics));
    const asked = some.flatMap(([id, { forgotten, position }]) => [id, forgotten, position]);
    const args = [some.length, ...asked, ...wanted];
    const [old, states, rows] = await partition.call(RECENT_OF_APPS, args);
    hasOldNodes ||= old === 1;
    for (const [n, [, app]] of some.entries()) {
      const state: Reply | undefined = Array.isArray(states) ? states[n] : undefined;
      const [forgotten = '0', position = '', reach = '0'] = textsOf(state);
      app.forgotten = forgotten;
      app.position = position;
      app.reachMs = Math.min(app.reachMs, Number(reach));
    }
    takeRows(missed, rows);
    open = open.filter(([, { position }]) => position !== '');
  }
  return { apps, hasOldNodes };
}

/** Returns how far back all events are there. */
async function readAll(partition: Partition, missed: ReadonlyMap<string, Missed>) {
  const wanted = wantedOf([...missed]);
  let reachMs = Number.POSITIVE_INFINITY;
  for (let position = '0'; position !== ''; ) {
    const [next, reach, rows] = await partition.call(RECENT_OF_ALL, [position, ...wanted]);
    takeRows(missed, rows);
    reachMs = Math.min(reachMs, Number(reach));
    position = String(next);
  }
  return reachMs;
}

/** The topics, each with the number after which events are wanted; none: all. */
function wantedOf(topics: readonly (readonly [topic: string, Missed])[]) {
  if (topics.length > NAMED_MAX) return [];
  return topics.flatMap(([topic, { gap }]) => [topic, gap.after]);
}

function takeRows(missed: ReadonlyMap<string, Missed>, rows: Reply | undefined): void {
  const page = textsOf(rows);
  for (let n = 0; n + 1 < page.length; n += 2) {
    missed.get(page[n] ?? '')?.events.add(page[n + 1] ?? '');
  }
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
