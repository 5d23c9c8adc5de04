import type { App } from '../../../channels/app.ts';
import {
  type ChannelName,
  describeBadChannelName,
  parseChannelName,
} from '../../../channels/channel-name.ts';
import { EVENT_NAME_LENGTH_MAX, isReservedEventName } from '../../../channels/event.ts';
import { parseSocketId, type SocketId } from '../../../channels/socket-id.ts';
import { charactersOf, hasMoreCharacters } from '../../../runtime/characters.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import { elementTexts, memberText } from '../../../runtime/json-slices.ts';
import { textOf } from '../body-text.ts';
import { ApiRefusal, invalid } from '../problems.ts';
import {
  type Attribute,
  infoIn,
  readAttributes,
  refuseSwitchedOff,
} from '../queries/attributes.ts';
import { elementsOf, type Parameter, parameterOf } from '../query.ts';

import { type AppendRequest, readAppend } from './read-append.ts';

/** A checked event of a backend, and its channels. */
export interface Trigger {
  readonly name: string;
  readonly data: string;
  readonly channels: readonly ChannelName[];
  readonly except: SocketId | undefined;
  /** Names the event for repetitions of the request. */
  readonly idempotencyKey: string | undefined;
  readonly attributes: readonly TriggerAttribute[];
  /** Whether `info` was sent: it changes the shape of the answer. */
  readonly asked: boolean;
  /** Set if it is a piece of a value, or stops one. */
  readonly append: AppendRequest | undefined;
}

export type TriggerAttribute = Exclude<Attribute, 'cache'>;
const TRIGGER_ATTRIBUTES: readonly TriggerAttribute[] = ['user_count', 'subscription_count'];

/** The fields of an event: in a JSON object, in a query, or in both. */
interface Fields {
  value(name: string): unknown;
  /** Returns the JSON text of a value that is not a string. */
  text(name: string): string | undefined;
}

/** `json` is only called if a value is passed on as it was written. */
function jsonFields(object: Readonly<Record<string, unknown>>, json: () => string): Fields {
  return {
    value: (name) => (Object.hasOwn(object, name) ? object[name] : undefined),
    text: (name) => memberText(json(), name),
  };
}

function queryFields(parameters: readonly Parameter[]): Fields {
  return {
    value: (name) =>
      name === 'info'
        ? infoIn(parameters)
        : (elementsOf(parameters, name) ?? parameterOf(parameters, name)),
    text: () => undefined,
  };
}

/** The fields of body and query together; those of the body win. Source: the seed, "Parameter placement". */
function bothFields(body: Fields, query: Fields): Fields {
  const holder = (name: string) =>
    isAbsent(body.value(name)) && !isAbsent(query.value(name)) ? query : body;
  return {
    value: (name) => holder(name).value(name),
    text: (name) => holder(name).text(name),
  };
}

/** Whether a query has only the parameters of a signature, so that all fields are in the body. */
function isOnlySigned(parameters: readonly Parameter[]): boolean {
  return parameters.every(({ name }) => name.startsWith('auth_') || name === 'body_md5');
}

/** Libraries send `null` for absent fields. Only `data` may be null: see `readData`. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Reads a body that must be a JSON object. An empty body has no fields. */
function readObject(
  body: Uint8Array,
): { readonly object: Readonly<Record<string, unknown>>; readonly json: string } | ApiRefusal {
  const json = textOf(body);
  if (json instanceof ApiRefusal) return json;
  if (json === '') return { object: {}, json: '{}' };
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    // The parser's message says where the error is.
    return invalid(`The body is not valid JSON: ${messageOf(error)}`);
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { object: value as Readonly<Record<string, unknown>>, json }
    : invalid('The body must be a JSON object');
}

/** Reads the event of `POST /events`. */
export function readTrigger(
  app: App,
  body: Uint8Array,
  parameters: readonly Parameter[],
): Trigger | ApiRefusal {
  const read = readObject(body);
  if (read instanceof ApiRefusal) return read;
  const inBody = jsonFields(read.object, () => read.json);
  if (isOnlySigned(parameters)) {
    const channels = readChannels(app, inBody);
    return channels instanceof ApiRefusal ? channels : readFields(app, inBody, channels, '');
  }
  const inQuery = queryFields(parameters);
  // The two names are one parameter, so `channel` in the body wins over `channels[]` in the query.
  const elsewhere = isAbsent(inBody.value('channels')) && isAbsent(inBody.value('channel'));
  const channels = readChannels(app, elsewhere ? inQuery : inBody);
  const fields = bothFields(inBody, inQuery);
  return channels instanceof ApiRefusal ? channels : readFields(app, fields, channels, '');
}

/** Reads the events of `POST /batch_events`, or refuses all of them for the first error. */
export function readBatch(app: App, body: Uint8Array): readonly Trigger[] | ApiRefusal {
  const read = readObject(body);
  if (read instanceof ApiRefusal) return read;
  const batch = read.object['batch'];
  if (batch === undefined) return invalid('batch: required');
  if (!Array.isArray(batch)) return invalid('batch: must be an array of events');
  const { eventsPerBatch } = app.limits;
  if (batch.length > eventsPerBatch) {
    // The hosted service's words, which tests of libraries look for.
    return invalid(`Batch too large (> ${eventsPerBatch} events): got ${batch.length}`);
  }
  let texts: readonly string[] | undefined;
  const textAt = (index: number): string => {
    texts ??= elementTexts(memberText(read.json, 'batch') ?? '[]');
    return texts[index] ?? '';
  };
  const triggers: Trigger[] = [];
  for (const [index, element] of batch.entries()) {
    const trigger = readBatchElement(app, element, () => textAt(index), `batch[${index}]`);
    if (trigger instanceof ApiRefusal) return trigger;
    triggers.push(trigger);
  }
  return triggers;
}

function readBatchElement(
  app: App,
  element: unknown,
  json: () => string,
  at: string,
): Trigger | ApiRefusal {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) {
    return invalid(`${at}: must be an object`);
  }
  const fields = jsonFields(element as Readonly<Record<string, unknown>>, json);
  const channel = readChannel(fields.value('channel'), `${at}.channel`);
  return channel instanceof ApiRefusal ? channel : readFields(app, fields, [channel], `${at}.`);
}

function readFields(
  app: App,
  fields: Fields,
  channels: readonly ChannelName[],
  at: string,
): Trigger | ApiRefusal {
  const name = readName(fields.value('name'), `${at}name`);
  if (name instanceof ApiRefusal) return name;
  const except = readExcept(fields.value('socket_id'), `${at}socket_id`);
  if (except instanceof ApiRefusal) return except;
  const info = fields.value('info');
  if (!isAbsent(info) && typeof info !== 'string') {
    return invalid(
      `${at}info: must be a string; info should be a comma separated list of attributes`,
    );
  }
  const asked = typeof info === 'string' && info.trim() !== '';
  const attributes = readAttributes(asked ? info : undefined, TRIGGER_ATTRIBUTES, `${at}info`);
  if (attributes instanceof ApiRefusal) return attributes;
  const off = refuseSwitchedOff(app, attributes, `${at}info`);
  if (off !== undefined) return off;
  const data = readData(app, fields, at);
  if (data instanceof ApiRefusal) return data;
  const append = readAppendOf(app, fields, channels, at);
  if (append instanceof ApiRefusal) return append;
  const once = readIdempotencyKey(fields.value('idempotency_key'), `${at}idempotency_key`);
  if (once instanceof ApiRefusal) return once;
  const { key: idempotencyKey } = once;
  return {
    name,
    data: data.text,
    channels,
    except: except.id,
    idempotencyKey,
    attributes,
    asked,
    append,
  };
}

function readAppendOf(
  app: App,
  fields: Fields,
  channels: readonly ChannelName[],
  at: string,
): AppendRequest | undefined | ApiRefusal {
  const append = fields.value('append');
  if (isAbsent(append)) return undefined;
  if (at !== '') return invalid(`${at}append: not in a batch`);
  const data = fields.value('data');
  const others = {
    socket_id: fields.value('socket_id'),
    idempotency_key: fields.value('idempotency_key'),
    info: fields.value('info'),
  };
  const text = typeof data === 'string' ? data : undefined;
  return readAppend(append, { app, channels, text, others });
}

function readName(value: unknown, at: string): string | ApiRefusal {
  if (isAbsent(value)) return invalid(`${at}: required`);
  if (typeof value !== 'string') return invalid(`${at}: must be a string`);
  if (value === '') return invalid(`${at}: must not be empty`);
  if (hasMoreCharacters(value, EVENT_NAME_LENGTH_MAX)) {
    const given = charactersOf(value);
    return invalid(`${at}: at most ${EVENT_NAME_LENGTH_MAX} characters, got ${given}`);
  }
  return isReservedEventName(value)
    ? invalid(`${at}: names that begin with pusher: or pusher_internal: are reserved`)
    : value;
}

/** Reads the data as subscribers get it: a value that is not a string is sent as its exact JSON text. */
function readData(app: App, fields: Fields, at: string): { text: string } | ApiRefusal {
  const value = fields.value('data');
  if (value === undefined) return invalid(`${at}data: required`);
  const text = typeof value === 'string' ? value : fields.text('data');
  if (text === undefined) return invalid(`${at}data: must be a string`);
  return refuseDataSize(app, Buffer.byteLength(text)) ?? { text };
}

/** Source: Channels protocol, §14.2; the text is the hosted service's. */
function refuseDataSize(app: App, bytes: number): ApiRefusal | undefined {
  const { eventDataBytes } = app.limits;
  if (bytes <= eventDataBytes) return undefined;
  return new ApiRefusal(
    'data-too-large',
    `The data content of this event exceeds the allowed maximum (${eventDataBytes} bytes). See https://pusher.com/docs/channels/server_api/http-api#publishing-events for more info`,
  );
}

const IDEMPOTENCY_KEY = /^[!-~]{1,255}$/;

function readIdempotencyKey(
  value: unknown,
  at: string,
): { readonly key: string | undefined } | ApiRefusal {
  if (isAbsent(value)) return { key: undefined };
  return typeof value === 'string' && IDEMPOTENCY_KEY.test(value)
    ? { key: value }
    : invalid(`${at}: must be a string of 1 to 255 visible ASCII characters`);
}

function readExcept(
  value: unknown,
  at: string,
): { readonly id: SocketId | undefined } | ApiRefusal {
  if (isAbsent(value)) return { id: undefined };
  const id = typeof value === 'string' ? parseSocketId(value) : undefined;
  return id === undefined ? invalid(`${at}: must be the id of a connection, like 123.456`) : { id };
}

function readChannels(app: App, fields: Fields): readonly ChannelName[] | ApiRefusal {
  const value = fields.value('channels');
  if (isAbsent(value)) {
    if (isAbsent(fields.value('channel'))) return invalid('channels: required, or channel');
    const channel = readChannel(fields.value('channel'), 'channel');
    return channel instanceof ApiRefusal ? channel : [channel];
  }
  if (!Array.isArray(value)) return invalid('channels: must be an array of channel names');
  const { channelsPerTrigger } = app.limits;
  if (value.length === 0) return invalid('channels: must name at least one channel');
  if (value.length > channelsPerTrigger) {
    return invalid(
      `channels: at most ${channelsPerTrigger} channels per trigger, got ${value.length}`,
    );
  }
  // Nearly all triggers have one channel, and a map costs more than reading its name.
  if (value.length === 1) {
    const channel = readChannel(value[0], 'channels[0]');
    return channel instanceof ApiRefusal ? channel : [channel];
  }
  // A channel that is named twice gets the event once.
  const channels = new Map<string, ChannelName>();
  for (const [index, text] of value.entries()) {
    const channel = readChannel(text, `channels[${index}]`);
    if (channel instanceof ApiRefusal) return channel;
    channels.set(channel.text, channel);
  }
  return [...channels.values()];
}

function readChannel(value: unknown, at: string): ChannelName | ApiRefusal {
  if (isAbsent(value)) return invalid(`${at}: required`);
  if (typeof value !== 'string') return invalid(`${at}: must be a string`);
  const parsed = parseChannelName(value);
  return parsed.ok
    ? parsed.channel
    : invalid(`${at}: ${describeBadChannelName(value.slice(0, 300), parsed.why)}`);
}

/** Reads the event of the deprecated `POST /channels/NAME/events`: the body is its data. Source: §14.3. */
export function readRawEvent(
  app: App,
  channelText: string,
  body: Uint8Array,
  parameters: readonly Parameter[],
): Trigger | ApiRefusal {
  const channel = readChannel(channelText, 'channel');
  if (channel instanceof ApiRefusal) return channel;
  const name = readName(parameterOf(parameters, 'name'), 'name');
  if (name instanceof ApiRefusal) return name;
  const except = readExcept(parameterOf(parameters, 'socket_id'), 'socket_id');
  if (except instanceof ApiRefusal) return except;
  const data = textOf(body);
  if (data instanceof ApiRefusal) return data;
  return (
    refuseDataSize(app, body.length) ?? {
      name,
      data,
      channels: [channel],
      except: except.id,
      idempotencyKey: undefined,
      attributes: [],
      asked: false,
      append: undefined,
    }
  );
}
