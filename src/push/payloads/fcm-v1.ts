import { isGiven, isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { isEmptyArray, TIME_TO_LIVE_SECONDS_MAX } from './field-rules.ts';

/** A kind of value in FCM's v1 API: a name below, the choices of an enum, or the fields of an object. */
export type V1Type = keyof typeof readers | readonly string[] | V1Fields;

/** The fields of an object in FCM's v1 API. FCM refuses all others. */
export interface V1Fields {
  readonly [name: string]: V1Type;
}

/** A field that FCM would refuse, by the name that was given. */
export class V1Fault {
  /** The path of the object. */
  readonly at: string;
  readonly name: string;
  /** The rule that the value breaks; `undefined`: FCM knows no such field. */
  readonly rule: string | undefined;

  constructor(at: string, name: string, rule?: string) {
    this.at = at;
    this.name = name;
    this.rule = rule;
  }
}

export interface V1Reading {
  readonly table: V1Fields;
  readonly at: string;
  /** Whether `[]` stands for an empty object, as PHP writes it. FCM refuses it. */
  readonly hasEmptyArrays: boolean;
}

/**
 * Reads an object of FCM's v1 API as FCM does: names in both spellings, `null` as absent. Returns it without nulls, with names
 * in snake case and enums in capitals. Source: FCM v1, `projects.messages`; ProtoJSON.
 */
export function readV1(object: JsonObject, reading: V1Reading): JsonObject | V1Fault {
  const { table, at, hasEmptyArrays } = reading;
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(object)) {
    const known = v1Name(name, table);
    if (known === undefined) return new V1Fault(at, name);
    if (!isGiven(value)) continue;
    if (Object.hasOwn(read, known)) return new V1Fault(at, name, GIVEN_TWICE);
    const type = table[known] ?? 'object';
    if (hasEmptyArrays && isObjectType(type) && isEmptyArray(value)) continue;
    const inner = readValue(value, type, { ...reading, at: `${at}.${name}` });
    if (inner instanceof V1Fault) return inner;
    if (inner instanceof Broken) return new V1Fault(at, name, inner.rule);
    read[known] = inner;
  }
  return read;
}

export const GIVEN_TWICE = 'is given twice, in two spellings';

/** The name of a field as the table has it; `undefined`: it has no such field. */
export function v1Name(given: string, table: object): string | undefined {
  if (Object.hasOwn(table, given)) return given;
  const snake = given.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return snake !== given && Object.hasOwn(table, snake) ? snake : undefined;
}

/** The other spelling of a name in snake case. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** FCM refuses messages with these keys in their data. */
export function isReservedByFcm(key: string): boolean {
  return (
    ['from', 'message_type', 'gcm'].includes(key) ||
    key.startsWith('google.') ||
    key.startsWith('gcm.')
  );
}

/** Reads a duration of v1, for example `3600s`, rounded down to whole seconds; at most four weeks. */
export function readTimeToLive(value: unknown): number | undefined {
  const digits =
    typeof value === 'string' ? /^(\d{1,7})(?:\.\d{1,9})?s$/.exec(value)?.[1] : undefined;
  const seconds = Number(digits);
  return seconds <= TIME_TO_LIVE_SECONDS_MAX ? seconds : undefined;
}

/** A value that breaks a rule. */
class Broken {
  readonly rule: string;

  constructor(rule: string) {
    this.rule = rule;
  }
}

function readValue(value: unknown, type: V1Type, reading: V1Reading): unknown {
  if (typeof type === 'string') {
    const [isRight, rule] = readers[type];
    return isRight(value) ? value : new Broken(rule);
  }
  if (isChoices(type)) return readChoice(value, type);
  return isJsonObject(value)
    ? readV1(value, { ...reading, table: type })
    : new Broken('must be an object');
}

function isChoices(type: V1Type): type is readonly string[] {
  return Array.isArray(type);
}

function isObjectType(type: V1Type): boolean {
  return typeof type === 'string' ? OBJECT_TYPES.has(type) : !isChoices(type);
}

const OBJECT_TYPES: ReadonlySet<string> = new Set(['object', 'data', 'text map']);

/** FCM takes the number of a choice, and its name in small letters. */
function readChoice(value: unknown, choices: readonly string[]): unknown {
  if (typeof value === 'number' && choices[value] !== undefined) return choices[value];
  const name = typeof value === 'string' ? value.toUpperCase() : undefined;
  return name !== undefined && choices.includes(name)
    ? name
    : new Broken(`must be ${choices.join(' or ')}`);
}

const isText = (value: unknown): value is string => typeof value === 'string';

const matches = (pattern: RegExp) => (value: unknown) => isText(value) && pattern.test(value);

const listOf = (isRight: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(isRight);

const isDuration = matches(/^-?\d{1,12}(?:\.\d{1,9})?s$/);

const INT32_MAX = 2 ** 31 - 1;

const isInteger = (value: unknown) => {
  const number = matches(/^-?\d{1,10}$/)(value) ? Number(value) : value;
  return Number.isInteger(number) && Math.abs(Number(number)) <= INT32_MAX;
};

/** What each kind of value must be, and the rule in words. */
const readers = {
  text: [isText, 'must be a string'],
  flag: [(value: unknown) => typeof value === 'boolean', 'must be true or false'],
  integer: [isInteger, 'must be a whole number of 32 bits'],
  number: [Number.isFinite, 'must be a number'],
  color: [matches(/^#[0-9a-f]{6}$/i), 'must be a color, as #rrggbb'],
  label: [
    matches(/^[\w.~%-]{1,50}$/),
    'must be 1 to 50 letters, digits and the characters - _ . ~ %',
  ],
  'https url': [matches(/^https:\/\//i), 'must begin with https://'],
  duration: [isDuration, 'must be seconds, such as "3.5s"'],
  'time to live': [
    (value: unknown) => readTimeToLive(value) !== undefined,
    `must be seconds from "0s" to "${TIME_TO_LIVE_SECONDS_MAX}s"`,
  ],
  timestamp: [
    (value: unknown) =>
      matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i)(value) &&
      !Number.isNaN(Date.parse(String(value))),
    'must be a time such as 2026-01-15T12:00:00Z',
  ],
  texts: [listOf(isText), 'must be an array of strings'],
  durations: [listOf(isDuration), 'must be an array of seconds, such as ["0.5s", "1s"]'],
  'text map': [
    (value: unknown) => isJsonObject(value) && Object.values(value).every(isText),
    'must be an object of strings',
  ],
  object: [isJsonObject, 'must be an object'],
  /** The app's own data: the server makes texts of its values. */
  data: [isJsonObject, 'must be an object'],
} as const satisfies Readonly<Record<string, readonly [(value: unknown) => boolean, string]>>;
