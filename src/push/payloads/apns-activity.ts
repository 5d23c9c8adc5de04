import { isGiven, type JsonObject } from '../../runtime/json-object.ts';
import { FieldFault } from '../refusal.ts';
import {
  type FieldRule,
  type FieldRules,
  findFault,
  isEmptyArray,
  object,
  oneOf,
  text,
  textOrObject,
} from './field-rules.ts';

const AT = 'apns.aps';

/** Its title and body may be objects with a key of the app's translations. */
export const activityAlertRules: FieldRules = [
  ['title', textOrObject],
  ['body', textOrObject],
];

const time: FieldRule = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0
    ? undefined
    : 'must be a whole number of seconds since 1970';

/** The name of a type in the code of the app. */
const typeName: FieldRule = (value) => (value === '' ? 'must not be empty' : text(value));

const rules: FieldRules = [
  ['event', oneOf('start', 'update', 'end')],
  ['content-state', object],
  ['attributes-type', typeName],
  ['attributes', object],
  ['timestamp', time],
  ['stale-date', time],
  ['dismissal-date', time],
];

const requiredFor: Readonly<Record<string, readonly string[]>> = {
  start: ['content-state', 'attributes-type', 'attributes', 'alert'],
  update: ['content-state'],
  end: [],
};

/** Finds what is wrong with the `aps` of a live activity. Source: Apple, ActivityKit. */
export function findActivityFault(aps: JsonObject): FieldFault | undefined {
  const fault = findFault(aps, rules, AT);
  if (fault !== undefined) return fault;
  const { event } = aps;
  const required = typeof event === 'string' ? requiredFor[event] : undefined;
  if (required === undefined) {
    return new FieldFault(`${AT}.event`, 'must be "start" or "update" or "end"');
  }
  const missing = required.find((name) => !isGiven(aps[name]));
  return missing === undefined
    ? undefined
    : new FieldFault(`${AT}.${missing}`, `${missing} is required for ${String(event)}`);
}

/** With objects in place of the `[]` that libraries of PHP write for empty ones. */
export function withObjects(aps: JsonObject): JsonObject {
  const entries = Object.entries(aps).map(([name, value]) =>
    (name === 'content-state' || name === 'attributes') && isEmptyArray(value)
      ? [name, {}]
      : [name, value],
  );
  return Object.fromEntries(entries);
}
