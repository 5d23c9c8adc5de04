import type { Resumption } from '../../doctor/client/client-messages.ts';
import { isJsonObject } from '../../runtime/json-object.ts';

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

/** What a field must have, also in words. */
export interface Kind<Value> {
  readonly is: (value: unknown) => boolean;
  readonly words: string;
  /** Never there: only carries the type. */
  readonly of?: Value;
}

/** A field that may be missing. */
interface Optional<Value> extends Kind<Value> {
  readonly mayMiss: true;
}

const TEXT_CHARACTERS_MAX = 200;
/** Members, channels or devices of one line. */
const ENTRIES_MAX = 10_000;
/** Channels of one trigger. */
const CHANNELS_MAX = 100;

const kind = <Value>(words: string, is: Kind<Value>['is']): Kind<Value> => ({ is, words });
const maybe = <Value>(one: Kind<Value>): Optional<Value> => ({ ...one, mayMiss: true });
const listOf = (most: number) =>
  kind<readonly string[]>(
    `a list of at most ${most} such texts`,
    (value) => Array.isArray(value) && value.length <= most && value.every(text.is),
  );
const mapOf = <Value>(words: string, is: Kind<Value>['is']) =>
  kind<Readonly<Record<string, Value>>>(words, (value) => {
    const entries = isJsonObject(value) ? Object.entries(value) : [];
    const areRight = entries.every(([name, one]) => text.is(name) && is(one));
    return isJsonObject(value) && entries.length <= ENTRIES_MAX && areRight;
  });

export const text = kind<string>(
  `a text of at most ${TEXT_CHARACTERS_MAX} characters`,
  (value) => typeof value === 'string' && value.length <= TEXT_CHARACTERS_MAX,
);
export const texts = listOf(ENTRIES_MAX);
export const time = kind<number>(
  'a number from 0 on',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
);
const whole = kind<number>(
  'a whole number',
  (value) => Number.isSafeInteger(value) && time.is(value),
);
const resumed = kind<Resumption>('an object with ok, missed and id', (value) => {
  const { ok, missed, id } = isJsonObject(value) ? value : {};
  return typeof ok === 'boolean' && whole.is(missed) && text.is(id);
});
const fault = kind<FaultKind>(`one of ${faultKinds.join(', ')}`, (value) =>
  faultKinds.some((one) => one === value),
);
const ids = mapOf<string>('an object of such texts', text.is);
const devices = mapOf<string | null>(
  'an object of devices with their users',
  (value) => value === null || text.is(value),
);

/** A client, and the number of its connection. */
const connection = { c: whole, n: whole };
const channel = { ...connection, ch: text };

/** What each kind of line has beside `op` and `t`. */
export const shapes = {
  open: { ...connection, socket: text },
  /** `heard`: when a link that has become silent was last heard; `until`: when its server must have found out, too. */
  close: { ...connection, code: whole, heard: maybe(time), until: maybe(time) },
  /** `after`: the place of a client that resumes; `''`: it has none yet. */
  subscribe: { ...channel, user: maybe(text), after: maybe(text) },
  subscribed: { ...channel, members: maybe(texts), resume: maybe(resumed) },
  unsubscribe: channel,
  event: { ...channel, e: text, id: maybe(text) },
  joined: { ...channel, user: text },
  left: { ...channel, user: text },
  counted: { ...channel, count: whole },
  /** `except`: the socket that must not get it. Events of one request have the same `batch`. */
  trigger: {
    e: text,
    ch: listOf(CHANNELS_MAX),
    except: maybe(text),
    key: maybe(text),
    batch: maybe(whole),
  },
  /** `status` is 0 if there was no answer. `ids` are by channel. */
  answer: { e: text, status: whole, ids: maybe(ids) },
  whisper: { ...channel, e: text },
  users: { ch: text, status: whole, users: texts },
  /** `time` is that of the server; `request` is a hash of the body. All events of one request have the same `t`. */
  webhook: { ch: text, name: text, user: maybe(text), time, request: text },
  /** `devices`: all that it addresses, with their users. `live`: the name of the event. */
  publish: { p: text, devices, users: maybe(texts), live: maybe(text) },
  published: { p: text, status: whole, id: maybe(text) },
  notified: { p: text, d: text, result: text },
  explained: { p: text, d: text, state: text },
  /** `until` is the end of the fault. */
  fault: { what: fault, on: maybe(text), until: maybe(time) },
  calm: {},
};

type Shapes = typeof shapes;
export type Op = keyof Shapes;

type ValueOf<Field> = Field extends Kind<infer Value> ? Value : never;
type OptionalOf<Shape> = {
  [Name in keyof Shape]: Shape[Name] extends Optional<unknown> ? Name : never;
}[keyof Shape];
type FieldsOf<Shape> = {
  readonly [Name in Exclude<keyof Shape, OptionalOf<Shape>>]: ValueOf<Shape[Name]>;
} & { readonly [Name in OptionalOf<Shape>]?: ValueOf<Shape[Name]> | undefined };

export type Fields = { readonly [O in Op]: FieldsOf<Shapes[O]> };

/** A line of one kind. `t` is in milliseconds. */
export type LineOf<O extends Op> = { readonly op: O; readonly t: number } & Fields[O];

export type Line = { [O in Op]: LineOf<O> }[Op];

/** The lines of a history, in order, after its header. */
export interface History {
  readonly header: Header;
  readonly lines: Iterable<Line>;
}
