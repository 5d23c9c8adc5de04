import { type Platform, platforms } from '../push/model/device.ts';
import { isGiven, isJsonObject, type JsonObject } from '../runtime/json-object.ts';
import { fcmRefusal } from './fcm/fake-fcm.ts';
import type { Act } from './script.ts';

/** A fault or a latency to script at one of the gateways. */
export type ScriptRequest =
  | { readonly what: 'latency'; readonly gateway: Platform; readonly latencyMs: number }
  | {
      readonly what: 'act';
      readonly gateway: Platform;
      /** The token of a device or the endpoint of a browser; `undefined`: the next requests. */
      readonly to: string | undefined;
      /** By default without end for one device, otherwise once. */
      readonly times: number | undefined;
      readonly act: Act;
    };

const ACTS = ['answer', 'hang', 'turn-away', 'reset', 'cut', 'go-away'] as const;
const NAMES: readonly string[] = [
  'gateway',
  'to',
  'times',
  'latencyMs',
  'act',
  'status',
  'error',
  'headers',
  'body',
];

const LATENCY_MS_MAX = 600_000;
const TIMES_MAX = 1_000_000;

/** Reads the body of `POST /script`, or returns the error in it. */
export function readScriptRequest(given: JsonObject): ScriptRequest | string {
  const unknown = Object.keys(given).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) return `unknown field "${unknown}"; known fields: ${NAMES.join(', ')}`;
  const gateway = platforms.find((name) => name === given['gateway']);
  if (gateway === undefined) return `gateway must be one of ${platforms.join(', ')}`;
  const { latencyMs, to, times } = given;
  if (isGiven(latencyMs)) {
    return isWhole(latencyMs, 0, LATENCY_MS_MAX)
      ? { what: 'latency', gateway, latencyMs }
      : `latencyMs must be a whole number up to ${LATENCY_MS_MAX}`;
  }
  if (isGiven(to) && typeof to !== 'string') return 'to must be a token or an endpoint';
  if (isGiven(times) && !isWhole(times, 1, TIMES_MAX)) {
    return `times must be a whole number from 1 to ${TIMES_MAX}`;
  }
  const act = readAct(given, gateway);
  if (typeof act === 'string') return act;
  return {
    what: 'act',
    gateway,
    to: typeof to === 'string' ? to : undefined,
    times: typeof times === 'number' ? times : undefined,
    act,
  };
}

function readAct(given: JsonObject, gateway: Platform): Act | string {
  const name = given['act'] ?? 'answer';
  const act = ACTS.find((one) => one === name);
  if (act === undefined) return `act must be one of ${ACTS.join(', ')}`;
  return act === 'answer' ? readAnswer(given, gateway) : { act };
}

function readAnswer(given: JsonObject, gateway: Platform): Act | string {
  const { status, error, headers = {}, body } = given;
  if (!isWhole(status, 200, 599)) return 'status must be a number from 200 to 599';
  if (!isFields(headers))
    return 'headers must be an object of header fields with names in lower case';
  if (isGiven(error)) {
    return typeof error === 'string'
      ? answerWith(gateway, status, error, headers)
      : 'error must be a string';
  }
  const text = textOf(body);
  return {
    act: 'answer',
    status,
    fields: headers,
    ...(text === undefined ? {} : { body: text }),
  };
}

/** The body of an answer: text as it is, anything else as JSON. */
function textOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body;
  return isGiven(body) ? JSON.stringify(body) : undefined;
}

/** An error in the form of each gateway. */
function answerWith(
  gateway: Platform,
  status: number,
  error: string,
  fields: Readonly<Record<string, string>>,
): Act {
  switch (gateway) {
    case 'apns':
      return { act: 'answer', status, fields, body: JSON.stringify({ reason: error }) };
    case 'fcm':
      return fcmRefusal(status, error, fields);
    case 'web':
      return { act: 'answer', status, fields, body: JSON.stringify({ message: error }) };
    default:
      return gateway satisfies never;
  }
}

function isWhole(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

function isFields(value: unknown): value is Record<string, string> {
  return (
    isJsonObject(value) &&
    Object.entries(value).every(
      ([name, text]) =>
        /^[a-z0-9-]{1,64}$/.test(name) && typeof text === 'string' && /^[\x20-\x7e]*$/.test(text),
    )
  );
}
