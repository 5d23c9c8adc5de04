/** A history: what one run of clients and a backend has sent and received, in the order in which it happened. */

/** The first line of a history. */
export interface Header {
  readonly history: 1;
  /** The program that recorded it. */
  readonly by: string;
  readonly app: string;
  /** How long an event may take. Milliseconds. */
  readonly T: number;
  readonly rules: Rules;
  /** Whether webhooks of the app were listened for. */
  readonly webhooks: boolean;
}

/** The rules of the app that change what is promised. Names of channels; `*` at the end stands for anything. */
export interface Rules {
  /** Channels that keep a history. */
  readonly kept: readonly string[];
  /** Channels whose newcomers get earlier events. */
  readonly replay: readonly string[];
}

/** What a server says about resuming, in the confirmation of a subscription. */
export interface Resumed {
  readonly ok: boolean;
  readonly missed: number;
  /** The newest event of the channel. */
  readonly id: string;
}

export const faultKinds = [
  'kill',
  'stop',
  'pause',
  'cut-off',
  'redis-away',
  'redis-lost',
  'store-away',
  'power',
  'clock',
  'gateway',
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** A client, and the number of its connection. */
interface OfConnection {
  readonly c: number;
  readonly n: number;
}

interface OfChannel extends OfConnection {
  readonly ch: string;
}

/** What each kind of line has beside `op` and `t`. */
export interface Fields {
  open: OfConnection & { readonly socket: string };
  close: OfConnection & { readonly code: number };
  /** `after`: the place of a client that resumes; `''`: it has none yet. */
  subscribe: OfChannel & { readonly user?: string; readonly after?: string };
  subscribed: OfChannel & { readonly members?: readonly string[]; readonly resume?: Resumed };
  unsubscribe: OfChannel;
  event: OfChannel & { readonly e: string; readonly id?: string };
  joined: OfChannel & { readonly user: string };
  left: OfChannel & { readonly user: string };
  counted: OfChannel & { readonly count: number };
  /** `except`: the socket that must not get it. Events of one request have the same `batch`. */
  trigger: {
    readonly e: string;
    readonly ch: readonly string[];
    readonly except?: string;
    readonly key?: string;
    readonly batch?: number;
  };
  /** `status` is 0 if there was no answer. `ids` are by channel. */
  answer: {
    readonly e: string;
    readonly status: number;
    readonly ids?: Readonly<Record<string, string>>;
  };
  whisper: OfChannel & { readonly e: string };
  users: { readonly ch: string; readonly status: number; readonly users: readonly string[] };
  /** `time` is that of the server; `request` is a hash of the body. All events of one request have the same `t`. */
  webhook: {
    readonly ch: string;
    readonly name: string;
    readonly user?: string;
    readonly time: number;
    readonly request: string;
  };
  /** `devices`: all that it addresses, with their users. `live`: the name of the event. */
  publish: {
    readonly p: string;
    readonly devices: Readonly<Record<string, string | null>>;
    readonly users?: readonly string[];
    readonly live?: string;
  };
  published: { readonly p: string; readonly status: number; readonly id?: string };
  notified: { readonly p: string; readonly d: string; readonly result: string };
  explained: { readonly p: string; readonly d: string; readonly state: string };
  /** `until` is the end of the fault. */
  fault: { readonly what: FaultKind; readonly on?: string; readonly until?: number };
  calm: object;
}

export type Op = keyof Fields;

/** A line of one kind. `t` is in milliseconds. */
export type LineOf<O extends Op> = { readonly op: O; readonly t: number } & Fields[O];

export type Line = { [O in Op]: LineOf<O> }[Op];

/** The lines of a history, in order, after its header. */
export interface History {
  readonly header: Header;
  readonly lines: Iterable<Line>;
}
