import { isGiven, isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { nestsDeeperThan } from '../messages/nesting.ts';
import type { LiveRequest } from '../model/live.ts';
import type { PublishTarget } from '../model/publish.ts';
import { FieldFault } from '../refusal.ts';

/** What the app of an instance allows in the live part of a publish. */
export interface LiveRules {
  /** The largest data of an event. */
  readonly eventDataBytes: number;
  /** What is wrong with the name of an event; `undefined`: nothing. */
  refuseEvent(name: string): string | undefined;
  /** What is wrong with a channel; `undefined`: nothing. */
  refuseChannel(channel: string): string | undefined;
}

const FIELDS: readonly string[] = ['event', 'data', 'channel', 'waitSeconds', 'push'];

/** `JSON.stringify` would need half a second to find that deeper data overflow the stack. */
const DATA_LEVELS_MAX = 5_000;

const WAIT_SECONDS_MAX = 60;
const WAIT_SECONDS_DEFAULT = 4;

/** Reads the field `live` of a publish. `rules` is `undefined` if the instance has no app. */
export function readLive(
  kind: PublishTarget['kind'],
  value: unknown,
  rules: LiveRules | undefined,
): { readonly live: LiveRequest | undefined } | FieldFault {
  if (!isGiven(value)) return { live: undefined };
  if (kind === 'interests') {
    return new FieldFault('live', 'only publishes to users have it: an interest names no users');
  }
  if (!isJsonObject(value)) return new FieldFault('live', 'must be an object');
  if (rules === undefined) {
    return new FieldFault('live', 'this instance has no app (see `push.instances[].app`)');
  }
  const live = readFields(value, rules);
  return live instanceof FieldFault ? live : { live };
}

function readFields(fields: JsonObject, rules: LiveRules): LiveRequest | FieldFault {
  // A misspelt `channel` would send the event elsewhere.
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) {
    const rule = `has an unknown field: ${JSON.stringify(unknown.slice(0, 50))}. It may have ${FIELDS.join(', ')}`;
    return new FieldFault('live', rule);
  }
  const event = readEvent(fields['event'], rules);
  if (event instanceof FieldFault) return event;
  const data = readData(fields['data'], rules);
  if (data instanceof FieldFault) return data;
  const channel = readChannel(fields['channel'], rules);
  if (channel instanceof FieldFault) return channel;
  const waitSeconds = fields['waitSeconds'] ?? WAIT_SECONDS_DEFAULT;
  if (!isWait(waitSeconds)) {
    const rule = `must be a whole number from 1 to ${WAIT_SECONDS_MAX}`;
    return new FieldFault('live.waitSeconds', rule);
  }
  const push = fields['push'] ?? 'absent';
  if (push !== 'absent' && push !== 'always') {
    return new FieldFault('live.push', 'must be "absent" or "always"');
  }
  return { event: event.text, data: data.text, channel: channel.text, waitSeconds, push };
}

function readEvent(value: unknown, rules: LiveRules): { readonly text: string } | FieldFault {
  if (!isGiven(value)) return new FieldFault('live.event', 'is required');
  if (typeof value !== 'string') return new FieldFault('live.event', 'must be a string');
  const why = rules.refuseEvent(value);
  return why === undefined ? { text: value } : new FieldFault('live.event', why);
}

/** A text is sent as it is, another value as its JSON text. */
function readData(value: unknown, rules: LiveRules): { readonly text: string } | FieldFault {
  if (value === undefined) return new FieldFault('live.data', 'is required');
  if (nestsDeeperThan(value, DATA_LEVELS_MAX)) {
    return new FieldFault('live.data', `nests deeper than ${DATA_LEVELS_MAX} levels`);
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const bytes = Buffer.byteLength(text);
  if (bytes <= rules.eventDataBytes) return { text };
  const rule = `has ${bytes} bytes: the app allows ${rules.eventDataBytes}`;
  return new FieldFault('live.data', rule);
}

function readChannel(
  value: unknown,
  rules: LiveRules,
): { readonly text: string | undefined } | FieldFault {
  if (!isGiven(value)) return { text: undefined };
  if (typeof value !== 'string') return new FieldFault('live.channel', 'must be a string');
  const why = rules.refuseChannel(value);
  return why === undefined ? { text: value } : new FieldFault('live.channel', why);
}

function isWait(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= WAIT_SECONDS_MAX;
}
