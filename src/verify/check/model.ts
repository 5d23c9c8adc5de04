import type { Beliefs, Roster } from './beliefs.ts';
import { NEVER } from './events.ts';
import type { Ints } from './lists.ts';

export interface Channel {
  readonly index: number;
  readonly name: string;
  /** In the order in which they were sent. */
  readonly events: Ints;
  /** Its subscriptions that are confirmed. */
  readonly live: Set<View>;
  /** The users that are subscribed now. */
  readonly present: Roster;
  /** The lists of members that subscribers have, by their fingerprints, and the counts that they were told. */
  readonly lists: Beliefs;
  readonly counts: Beliefs;
  /** When a user was subscribed, and when anybody (`''`) was. Pauses that webhooks may leave out are none. */
  readonly stays: Map<string, Stay[]>;
  /** When a server may have had somebody subscribed without a client that learned of it. */
  readonly attempts: Map<string, Stay[]>;
  /** When a connection ended that had the user subscribed, or anybody (`''`), or may have had. */
  readonly ends: Map<string, number[]>;
  /** Whether newcomers get earlier events. */
  readonly replays: boolean;
  readonly isCached: boolean;
}

/** From one time to another. */
export interface Stay {
  readonly from: number;
  until: number;
}

export interface Client {
  readonly id: number;
  connection: Connection | undefined;
  user: string | undefined;
  /** By channel its latest subscription. */
  readonly views: Map<string, View>;
  /** Every socket that it has had. */
  readonly sockets: Set<number>;
}

/** `opened` and `closed` are lines. */
export interface Connection {
  readonly client: Client;
  readonly n: number;
  readonly socket: number;
  readonly opened: number;
  closed: number;
}

/** A subscription of one connection to one channel. `asked`, `confirmed` and `ended` are lines. */
export interface View {
  readonly connection: Connection;
  readonly channel: Channel;
  readonly user: string | undefined;
  /** The place at which the client resumes, `''` if it has none. */
  readonly after: string;
  readonly asked: number;
  confirmed: number;
  ended: number;
  /** Whether the client has not unsubscribed. */
  isWanted: boolean;
  /** Where its events are. Before it is confirmed, the one that it would resume. */
  chain: Chain | undefined;
  /** Its first delivery in the chain. */
  from: number;
  /** How many events came since the confirmation, and how many of them the client had missed. */
  received: number;
  missed: number;
  /** The line of the latest sending among its deliveries, and the number of the last one that has an id. */
  latestSent: number;
  number: number;
  /** Its list of members, if the channel has one. */
  members: Roster | undefined;
  count: number | undefined;
}

export function isLive({ confirmed, ended }: View): boolean {
  return confirmed !== NEVER && ended === NEVER;
}

/** What a client has received of a channel without a gap: over several connections, if it has resumed. */
export interface Chain {
  readonly index: number;
  readonly client: Client;
  readonly channel: Channel;
  readonly views: View[];
  /** What was received, and at which lines. `NONE` stands for what came twice, once that is known. */
  readonly events: Ints;
  readonly lines: Ints;
}

/** The places in a chain where an event came first and once more, and the event. */
export type Double = readonly [first: number, again: number, event: number];
