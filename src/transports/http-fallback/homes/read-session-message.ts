import { type JsonObject, parseJsonObject } from '../../../runtime/json-object.ts';
import { Unreadable } from '../../../runtime/unreadable.ts';
import type { SessionMessage } from './session-messages.ts';

type IsField = (value: unknown) => boolean;

const text: IsField = (value) => typeof value === 'string';
const number: IsField = (value) => typeof value === 'number';
const orNothing =
  (is: IsField): IsField =>
  (value) =>
    value === undefined || is(value);
const texts: IsField = (value) => Array.isArray(value) && value.every(text);
const object =
  (fields: Readonly<Record<string, IsField>>): IsField =>
  (value) =>
    Object.entries(fields).every(([name, is]) => is(Object(value)[name]));

/** The fields of each question, and of each answer. */
const QUESTIONS: Readonly<Record<string, IsField>> = {
  receive: object({
    request: number,
    receive: object({
      session: text,
      key: text,
      query: text,
      origin: orNothing(text),
      isStream: (value) => typeof value === 'boolean',
      number: orNothing(number),
      address: (value) => text(value) || number(value),
    }),
  }),
  ended: object({ request: number, why: orNothing(text), written: orNothing(number) }),
  waiting: object({ request: number, bytes: number }),
  'app-of': object({ request: number, session: text }),
  send: object({ send: object({ session: text, number: orNothing(number), frames: texts }) }),
  lost: object({
    session: text,
    why: (value) => value === 'too-large' || value === 'not-received',
  }),
};
const ANSWERS: Readonly<Record<string, IsField>> = {
  received: object({ request: number }),
  write: object({ request: number, lines: text }),
  end: object({ request: number }),
  break: object({ request: number }),
  app: object({ request: number, app: orNothing(text) }),
};

/** Reads a message of a loop of another server. Throws `Unreadable`. */
export function readSessionMessage(json: string): SessionMessage {
  const message = parseJsonObject(json) ?? {};
  if (!isSessionMessage(message)) throw new Unreadable('It is no message about a session');
  return message;
}

function isSessionMessage(message: JsonObject): message is JsonObject & SessionMessage {
  const { type, ask, answer } = message;
  const isMessage = fieldsOf(QUESTIONS, ask) ?? fieldsOf(ANSWERS, answer);
  return type === 'session' && isMessage?.(message) === true;
}

function fieldsOf(all: Readonly<Record<string, IsField>>, what: unknown): IsField | undefined {
  return typeof what === 'string' && Object.hasOwn(all, what) ? all[what] : undefined;
}
