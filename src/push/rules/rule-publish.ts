import { isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { fillObject } from './placeholders.ts';

/** What a rule makes of an event: payloads with placeholders, and who gets them. */
export interface RuleTemplate {
  /** The interest; `undefined`: `users` is given. */
  readonly interest: string | undefined;
  /** The path of the field with the ids of users. */
  readonly users: string | undefined;
  readonly payloads: JsonObject;
}

/** Why no publish can be made of an event. */
export class Unfit {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/** Makes the body of a publish of the data of an event. */
export function bodyOfRule(
  { interest, users, payloads }: RuleTemplate,
  data: string,
): JsonObject | Unfit {
  const fields = readData(data);
  if (fields === undefined) return new Unfit('the data is no JSON object');
  const filling = new Filling(fields);
  const filled = fillObject(payloads, (path) => filling.take(path));
  if (filling.fault !== undefined) return filling.fault;
  if (users === undefined) return { ...filled, interests: [interest] };
  const ids = readUsers(valueAt(fields, users));
  return ids === undefined
    ? new Unfit(`the field ${users} of the data has no ids of users`)
    : { ...filled, users: ids };
}

function readData(data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The limit of characters that placeholders may add to one publish. No gateway accepts as many. */
const FILLED_MAX = 32_768;

/** Looks up what replaces placeholders. */
class Filling {
  private readonly fields: JsonObject;
  private room = FILLED_MAX;
  /** The first fault. */
  fault: Unfit | undefined;

  constructor(fields: JsonObject) {
    this.fields = fields;
  }

  take(path: string): string {
    const value = valueAt(this.fields, path);
    if (!isIdentifier(value)) {
      this.fault ??= new Unfit(`the field ${path} of the data is no text or number`);
      return '';
    }
    const text = String(value);
    this.room -= text.length;
    if (this.room < 0) {
      this.fault ??= new Unfit('the notification would be too large');
      return '';
    }
    return text;
  }
}

/** The value of a field; dots separate nested keys. Only own properties of the data. */
function valueAt(fields: JsonObject, path: string): unknown {
  let value: unknown = fields;
  for (const name of path.split('.')) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function readUsers(value: unknown): readonly string[] | undefined {
  const ids: readonly unknown[] = Array.isArray(value) ? value : [value];
  return ids.length > 0 && ids.every(isIdentifier) ? ids.map(String) : undefined;
}

function isIdentifier(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}
