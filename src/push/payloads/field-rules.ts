import { isGiven, isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { FieldFault } from '../refusal.ts';

/** Returns the error in a value, or `undefined`. */
export type FieldRule = (value: unknown) => string | undefined;

/** The rules for the documented fields of an object. Others are ignored: a library may be newer than this server. */
export type FieldRules = readonly (readonly [name: string, rule: FieldRule])[];

/** 4 weeks: the limit of the gateways. Source: push protocol, §5.1 and §5.3. */
export const TIME_TO_LIVE_SECONDS_MAX = 2_419_200;

export const text: FieldRule = (value) =>
  typeof value === 'string' ? undefined : 'must be a string';

export const flag: FieldRule = (value) =>
  typeof value === 'boolean' ? undefined : 'must be true or false';

export const object: FieldRule = (value) => (isJsonObject(value) ? undefined : 'must be an object');

export const textOrObject: FieldRule = (value) =>
  typeof value === 'string' || isJsonObject(value) ? undefined : 'must be a string or an object';

export const texts: FieldRule = (value) =>
  isTexts(value) ? undefined : 'must be an array of strings';

export const timeToLive = wholeNumber(0, TIME_TO_LIVE_SECONDS_MAX);

/** A rule for whole numbers from `min` to `max`, inclusive. */
export function wholeNumber(min: number, max: number): FieldRule {
  const why = `must be a whole number from ${min} to ${max}`;
  return (value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max ? undefined : why;
}

/** A rule for a choice. */
export function oneOf(...choices: readonly (string | number | boolean)[]): FieldRule {
  const why = `must be ${choices.map((choice) => JSON.stringify(choice)).join(' or ')}`;
  return (value) => (choices.some((choice) => choice === value) ? undefined : why);
}

/** A rule for the customer's own data, in which some keys are reserved. */
export function dataWithout(isReserved: (key: string) => boolean): FieldRule {
  return (value) => {
    if (!isJsonObject(value)) return 'must be an object';
    const reserved = Object.keys(value).find(isReserved);
    return reserved === undefined
      ? undefined
      : `the key ${JSON.stringify(reserved.slice(0, 40))} is reserved`;
  };
}

/** The key of the server's own block in each message. */
export const isPusherKey = (key: string): boolean => key === 'pusher';

/** Finds the first field that breaks its rule. `at` is the path of the object. */
export function findFault(
  fields: JsonObject,
  rules: FieldRules,
  at: string,
): FieldFault | undefined {
  for (const [name, rule] of rules) {
    const value = fields[name];
    const reason = isAbsent(value, rule) ? undefined : rule(value);
    if (reason !== undefined) return new FieldFault(`${at}.${name}`, reason);
  }
  return undefined;
}

/** Libraries send `null` for absent values, and those of PHP `[]` for empty objects. */
function isAbsent(value: unknown, rule: FieldRule): boolean {
  return !isGiven(value) || (isEmptyArray(value) && takesObject(rule));
}

function takesObject(rule: FieldRule): boolean {
  return rule({}) === undefined;
}

/** Whether a value is what PHP writes for an empty object. */
export function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((element) => typeof element === 'string');
}

/** A field, if it is an object. */
export function objectIn(fields: JsonObject, name: string): JsonObject | undefined {
  const value = fields[name];
  return isJsonObject(value) ? value : undefined;
}

/** A field, if it is a string. */
export function textIn(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
}

/** A field, if it is true or false. */
export function flagIn(fields: JsonObject, name: string): boolean | undefined {
  const value = fields[name];
  return typeof value === 'boolean' ? value : undefined;
}

/** A field, if it is a number. */
export function numberIn(fields: JsonObject, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' ? value : undefined;
}
