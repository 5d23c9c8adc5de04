import { isJsonObject, type JsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import {
  type FaultKind,
  type Fields,
  faultKinds,
  type Header,
  type Line,
  type Op,
} from './line.ts';

/** A text that is no history. The message names the line. */
export class NoHistory extends Error {
  override readonly name = 'NoHistory';
}

const TEXT_CHARACTERS_MAX = 200;
/** Members, channels or devices of one line. */
const ENTRIES_MAX = 10_000;
/** Channels of one trigger. */
const CHANNELS_MAX = 100;

/** Whether a value is what a field must have, and what that is in words. */
interface Kind {
  readonly is: (value: unknown) => boolean;
  readonly words: string;
}

const isText = (value: unknown) => typeof value === 'string' && value.length <= TEXT_CHARACTERS_MAX;
const isTexts = (value: unknown) =>
  Array.isArray(value) && value.length <= ENTRIES_MAX && value.every(isText);
const isMap = (value: unknown, isValue: (value: unknown) => boolean) => {
  if (!isJsonObject(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= ENTRIES_MAX && entries.every(([name, one]) => isText(name) && isValue(one))
  );
};

const text: Kind = { is: isText, words: `a text of at most ${TEXT_CHARACTERS_MAX} characters` };
const texts: Kind = { is: isTexts, words: `a list of at most ${ENTRIES_MAX} such texts` };
const channels: Kind = {
  is: (value) => isTexts(value) && (value as readonly string[]).length <= CHANNELS_MAX,
  words: `a list of at most ${CHANNELS_MAX} such texts`,
};
const whole: Kind = {
  is: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  words: 'a whole number',
};
const time: Kind = {
  is: (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
  words: 'a number from 0 on',
};
const ids: Kind = { is: (value) => isMap(value, isText), words: 'an object of such texts' };
const devices: Kind = {
  is: (value) => isMap(value, (user) => user === null || isText(user)),
  words: 'an object of devices with their users',
};
const resumed: Kind = {
  is: (value) =>
    isJsonObject(value) &&
    typeof value['ok'] === 'boolean' &&
    whole.is(value['missed']) &&
    isText(value['id']),
  words: 'an object with ok, missed and id',
};
const fault: Kind = {
  is: (value) => faultKinds.includes(value as FaultKind),
  words: `one of ${faultKinds.join(', ')}`,
};

/** A field that may be missing. */
interface Optional {
  readonly optional: Kind;
}
const maybe = (optional: Kind): Optional => ({ optional });

const connection = { c: whole, n: whole };
const channel = { ...connection, ch: text };

type Shape<O extends Op> = { readonly [F in keyof Fields[O]]-?: Kind | Optional };

/** The fields of each kind of line. */
const shapes: { readonly [O in Op]: Shape<O> } = {
  open: { ...connection, socket: text },
  close: { ...connection, code: whole },
  subscribe: { ...channel, user: maybe(text), after: maybe(text) },
  subscribed: { ...channel, members: maybe(texts), resume: maybe(resumed) },
  unsubscribe: channel,
  event: { ...channel, e: text, id: maybe(text) },
  joined: { ...channel, user: text },
  left: { ...channel, user: text },
  counted: { ...channel, count: whole },
  trigger: { e: text, ch: channels, except: maybe(text), key: maybe(text), batch: maybe(whole) },
  answer: { e: text, status: whole, ids: maybe(ids) },
  whisper: { ...channel, e: text },
  users: { ch: text, status: whole, users: texts },
  webhook: { ch: text, name: text, user: maybe(text), time, request: text },
  publish: { p: text, devices, users: maybe(texts), live: maybe(text) },
  published: { p: text, status: whole, id: maybe(text) },
  notified: { p: text, d: text, result: text },
  explained: { p: text, d: text, state: text },
  fault: { what: fault, on: maybe(text), until: maybe(time) },
  calm: {},
};

/** The same, in a form that is quick to go through. */
const checks = new Map(
  Object.entries(shapes).map(([op, shape]) => [
    op,
    Object.entries<Kind | Optional>({ t: time, ...shape }).map(([name, kind]) =>
      'optional' in kind
        ? { name, kind: kind.optional, mayMiss: true }
        : { name, kind, mayMiss: false },
    ),
  ]),
);

/** Reads one line after the first. `before` is the time of the line before. Throws `NoHistory`. */
export function readLine(line: string, number: number, before: number): Line {
  const value = readObject(line, number);
  const op = value['op'];
  const fields = typeof op === 'string' ? checks.get(op) : undefined;
  if (fields === undefined) {
    const shown = isText(op) ? JSON.stringify(op) : 'no text of this format';
    throw new NoHistory(`line ${number}: op is ${shown}, and must be one of ${opNames}`);
  }
  for (const { name, kind, mayMiss } of fields) {
    const given = value[name];
    if (given === undefined ? mayMiss : kind.is(given)) continue;
    throw new NoHistory(`line ${number}: ${name} of ${op} must be ${kind.words}`);
  }
  const read = value as unknown as Line;
  if (read.t < before) {
    throw new NoHistory(
      `line ${number}: t is ${read.t} after ${before}, but time does not go back`,
    );
  }
  return read;
}

const opNames = [...checks.keys()].join(', ');

/** The longest time that a header may allow an event. Milliseconds. */
const T_MAX_MS = 600_000;

/** Reads the first line. Throws `NoHistory`. */
export function readHeader(line: string): Header {
  const value = readObject(line, 1);
  if (value['history'] !== 1) {
    throw new NoHistory('line 1: it must begin a history of version 1, with "history":1');
  }
  const { by = '', app = '', T = 5000, rules = {}, webhooks = false } = value;
  if (!isText(by) || !isText(app)) throw new NoHistory(`line 1: by and app must be ${text.words}`);
  if (!time.is(T) || Number(T) > T_MAX_MS) {
    throw new NoHistory(`line 1: T must be a number of milliseconds up to ${T_MAX_MS}`);
  }
  const { kept = [], replay = [] } = isJsonObject(rules) ? rules : {};
  if (!isJsonObject(rules) || !isTexts(kept) || !isTexts(replay)) {
    throw new NoHistory(`line 1: rules.kept and rules.replay must be ${texts.words}`);
  }
  return { history: 1, by, app, T, rules: { kept, replay }, webhooks: webhooks === true } as Header;
}

function readObject(line: string, number: number): JsonObject {
  const value = parseJsonObject(line);
  if (value === undefined) throw new NoHistory(`line ${number} is no JSON object`);
  return value;
}
