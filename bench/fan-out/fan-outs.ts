import type { LoadSize } from '../load/open-loop.ts';
import type { Role } from '../servers.ts';

/** A measurement of fan-out: how many deliveries per second stay within a latency. */
export interface FanOut {
  readonly name: string;
  readonly description: string;
  readonly load: LoadSize;
  /** The load for the floor, if it does not support this one. */
  readonly floorLoad?: LoadSize;
  /** Settings of the app, if the defaults would interfere. */
  readonly app?: Readonly<Record<string, unknown>>;
  /** The floor is the same server without these settings. */
  readonly isBesideItself?: boolean;
  readonly dataBytes: number;
  /** Where the search starts: publishes, or whatever else makes events. */
  readonly publishesPerSecond: number;
  /** The share of the floor's figure that Fanfare should reach. */
  readonly ratioMin: number;
}

/** Connections of backends: so few that requests wait for one, and a server gets few requests at the same time. */
const PUBLISHERS = 16;
/** Connections of a small backend. */
const FEW_PUBLISHERS = 4;
/** More than the requests in flight at a sustained rate, so that no request waits for a connection. */
const MANY_PUBLISHERS = 256;

/** What the 99th percentile must not exceed, from due to read. */
export const P99_MS_MAX = 25;

const hotCrowd = { channels: 1, subscribersEach: 1000 };
const hot: FanOut = {
  name: 'hot',
  description: '1,000 subscribers of one channel, 200-byte events',
  load: { crowd: hotCrowd, publishers: PUBLISHERS },
  dataBytes: 200,
  publishesPerSecond: 200,
  ratioMin: 1.1,
};

const spreadCrowd = { channels: 100, subscribersEach: 10 };
const spread: FanOut = {
  name: 'spread',
  description: '100 channels of 10 subscribers, 200-byte events to random channels',
  load: { crowd: spreadCrowd, publishers: PUBLISHERS },
  dataBytes: 200,
  publishesPerSecond: 2000,
  ratioMin: 1,
};

/** The same with another number of publishers. The fewer they are, the fewer events the server reads in one turn of its loop. */
function publishedOver(publishers: number, fanOut: FanOut): FanOut {
  return {
    ...fanOut,
    name: `${fanOut.name}-${publishers}`,
    description: `${fanOut.description}, published over ${publishers} connections and not ${PUBLISHERS}`,
    load: { ...fanOut.load, publishers },
  };
}

/** The same in channels that keep a history, beside the same server without one. */
function kept(fanOut: FanOut): FanOut {
  return {
    ...fanOut,
    name: `${fanOut.name}-history`,
    description: `${fanOut.description}, in channels that keep a history; the floor is Fanfare without`,
    app: { history: [{ channels: '*', seconds: 120, events: 100 }] },
    isBesideItself: true,
    ratioMin: 0.97,
  };
}

/** In addition to the members who stay, so that a channel has at most 100 members, the default limit. */
const MEMBERS_WHO_STAY = 99;

/** Everything about fan-out that is measured. */
export const fanOuts: readonly FanOut[] = [
  hot,
  publishedOver(FEW_PUBLISHERS, hot),
  publishedOver(MANY_PUBLISHERS, hot),
  spread,
  publishedOver(FEW_PUBLISHERS, spread),
  publishedOver(MANY_PUBLISHERS, spread),
  kept(hot),
  kept(spread),
  {
    name: 'many',
    description: '10,000 connections, one channel each, 200-byte events to random channels',
    load: {
      crowd: { channels: 10_000, subscribersEach: 1 },
      publishers: MANY_PUBLISHERS,
    },
    dataBytes: 200,
    publishesPerSecond: 4000,
    ratioMin: 0.9,
  },
  {
    name: 'presence',
    description:
      '10 presence channels of 100 members, of whom one comes and goes; the floor publishes as much to as many',
    load: {
      crowd: { channels: 10, subscribersEach: MEMBERS_WHO_STAY, kind: 'presence' },
      publishers: 0,
      eventSource: 'member-changes',
    },
    floorLoad: {
      crowd: { channels: 10, subscribersEach: MEMBERS_WHO_STAY },
      publishers: MANY_PUBLISHERS,
    },
    // One member joins and leaves as often as many would.
    app: { limits: { subscriptionsPerSecond: 0 } },
    // With which an event of the floor is as long as the two of a member are on average.
    dataBytes: 80,
    publishesPerSecond: 500,
    ratioMin: 0.5,
  },
  {
    name: 'client-events',
    description: '100 private channels of 10 connections that all talk, 200-byte client events',
    load: {
      crowd: { channels: 100, subscribersEach: 10, kind: 'private' },
      publishers: 0,
      eventSource: 'client-events',
    },
    app: { clientEvents: true, limits: { clientEventsPerSecond: 0 } },
    dataBytes: 200,
    publishesPerSecond: 2000,
    ratioMin: 1,
  },
];

/** What a server is loaded with: the server to measure, or the floor. */
export function loadOf(fanOut: FanOut, role: Role): LoadSize {
  return role === 'floor' ? (fanOut.floorLoad ?? fanOut.load) : fanOut.load;
}

/** The receivers of each event: its sender is not one of them. */
export function hearersOf({ crowd, eventSource }: LoadSize): number {
  return eventSource === 'client-events' ? crowd.subscribersEach - 1 : crowd.subscribersEach;
}
