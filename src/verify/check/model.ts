import type { Roster } from './roster.ts';

/** One trigger or client event, in all channels that it was sent to. A trigger that is repeated is the same. */
export interface Sending {
  readonly name: string;
  /** The connection that sent a client event. */
  readonly sender: Connection | undefined;
  readonly sentAt: number;
  readonly sentLine: number;
  readonly except: string | undefined;
  readonly batch: number | undefined;
  /** Requests with it, and how many of them were answered with 4xx. */
  attempts: number;
  refusals: number;
  /** When it was answered with 200. */
  acceptedAt: number;
  acceptedLine: number;
  readonly items: Item[];
}

/** An event in one channel. */
export interface Item {
  readonly sending: Sending;
  readonly channel: Channel;
  /** Counted over the whole history. */
  readonly index: number;
  id: string | undefined;
  /** When somebody received it first. */
  seenAt: number;
  seenLine: number;
  /** The event that somebody received next. */
  next: Item | undefined;
  /** The last chain that was found to have it, and at which of its deliveries: marks of the rules that go through chains. */
  chain: number;
  at: number;
}

export interface Channel {
  readonly name: string;
  /** In the order in which they were sent. */
  readonly items: Item[];
  readonly chains: Chain[];
  /** Its subscriptions that are confirmed. */
  readonly live: Set<View>;
  /** The users that are subscribed now. */
  readonly present: Roster;
  /** When a user was subscribed, and when anybody (`''`) was. Pauses that webhooks may leave out are none. */
  readonly stays: Map<string, Stay[]>;
  /** Whether newcomers get earlier events. */
  readonly replays: boolean;
  readonly isCached: boolean;
}

export interface Stay {
  readonly from: number;
  until: number;
}

export interface Client {
  readonly id: number;
  connection: Connection | undefined;
  user: string | undefined;
  readonly views: Map<string, View>;
  /** The channels that it wants to be subscribed to. */
  readonly wanted: Set<string>;
  /** By channel, what it has received since it began or was told of a gap. */
  readonly chains: Map<string, Chain>;
  /** Every socket that it has had. */
  readonly sockets: Set<string>;
}

export interface Connection {
  readonly client: Client;
  readonly n: number;
  readonly socket: string;
  readonly openedAt: number;
  closedAt: number;
}

/** A subscription of one connection to one channel. */
export interface View {
  readonly connection: Connection;
  readonly channel: Channel;
  readonly user: string | undefined;
  readonly after: string | undefined;
  readonly askedLine: number;
  confirmedAt: number;
  confirmedLine: number;
  endedAt: number;
  endedLine: number;
  chain: Chain | undefined;
  /** Its first delivery in the chain. */
  from: number;
  /** How many events came since the confirmation, and how many of them the client had missed. */
  received: number;
  missed: number;
  /** What the server said about its place: it can have all that it missed, or there is a gap. */
  resumed: boolean | undefined;
  /** The line of the latest sending among its deliveries. */
  latestSent: number;
  /** Its list of members, if the channel has one. */
  members: Roster | undefined;
  count: number | undefined;
}

/** What a client has received of a channel without a gap: over several connections, if it has resumed. */
export interface Chain {
  readonly index: number;
  readonly client: Client;
  readonly channel: Channel;
  readonly views: View[];
  readonly items: Item[];
  readonly times: number[];
}

/** Since when an event exists: since it was answered with 200, or anybody had it. */
export function existsSince({ sending, seenAt, seenLine }: Item) {
  return sending.acceptedLine < seenLine
    ? { at: sending.acceptedAt, line: sending.acceptedLine }
    : { at: seenAt, line: seenLine };
}

/** Whether an event is not for a client, because it excludes one of its sockets, or because it is its own. */
export function isNotFor({ sending }: Item, client: Client): boolean {
  return (
    sending.sender?.client === client ||
    (sending.except !== undefined && client.sockets.has(sending.except))
  );
}
