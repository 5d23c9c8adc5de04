import { hasMoreCharacters } from '../runtime/characters.ts';
import { memberText } from '../runtime/json-slices.ts';
import type { ChannelText } from './channel-name.ts';
import { type EventId, parseEventId } from './history/event-id.ts';
import type { ResumeAnswer, ResumePlace } from './history/resume.ts';
import type { Entered, Member } from './ports.ts';
import { parseSocketId, type SocketId } from './socket-id.ts';

/**
 * Reads and writes frames. No other part of the server knows what a frame looks like. Source: Channels protocol, §1.2
 * to §7, §10.
 */

/** A message of a client. */
export type ClientMessage =
  | {
      readonly type: 'subscribe';
      readonly channel: string;
      readonly auth: string | undefined;
      readonly channelData: string | undefined;
      /** The client's position; `undefined`: it cannot resume. */
      readonly place?: ResumePlace | undefined;
    }
  | { readonly type: 'unsubscribe'; readonly channel: string }
  /** `userData`: `undefined` if it is missing, as with a token. */
  | { readonly type: 'signin'; readonly auth: string; readonly userData: string | undefined }
  | { readonly type: 'ping' }
  | { readonly type: 'pong' }
  /** Whether the client's page is hidden. */
  | { readonly type: 'away'; readonly isAway: boolean }
  | {
      readonly type: 'client-event';
      readonly event: string;
      readonly channel: string;
      /** The data as a JSON string literal, which can be inserted into a frame. */
      readonly dataLiteral: string;
      /** The size of the data itself. */
      readonly dataBytes: number;
    }
  | { readonly type: 'unsupported'; readonly event: string }
  | { readonly type: 'malformed'; readonly why: string };

type JsonObject = Readonly<Record<string, unknown>>;

/** Parses untrusted JSON; `undefined` if it is invalid. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Malformed input is normal. The caller answers it.
    return undefined;
  }
}

function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

/** Reads one text frame of a client. Never throws. */
export function readClientMessage(frame: string): ClientMessage {
  const message = asObject(parseJson(frame));
  if (message === undefined) return malformed('Invalid message: it must be a JSON object');
  const event = message['event'];
  if (typeof event !== 'string') return malformed('Invalid message: event must be a string');

  switch (event) {
    case 'pusher:subscribe':
      return readSubscribe(message);
    case 'pusher:unsubscribe': {
      const channel = dataOf(message)?.['channel'];
      if (typeof channel !== 'string') return malformed(missingChannel(event));
      return { type: 'unsubscribe', channel };
    }
    case 'pusher:signin':
      return readSignIn(message);
    case 'pusher:ping':
      return { type: 'ping' };
    case 'pusher:pong':
      return { type: 'pong' };
    case 'fanfare:away': {
      const isAway = dataOf(message)?.['away'];
      return typeof isAway === 'boolean'
        ? { type: 'away', isAway }
        : malformed('Invalid fanfare:away message: data.away must be true or false');
    }
    default:
      return event.startsWith('client-')
        ? readClientEvent(event, message, frame)
        : { type: 'unsupported', event };
  }
}

/** The `data` of a message: an object, or a string that contains one. Source: §2 rule 7. */
function dataOf(message: JsonObject): JsonObject | undefined {
  const data = message['data'];
  return asObject(typeof data === 'string' ? parseJson(data) : data);
}

function readSubscribe(message: JsonObject): ClientMessage {
  const data = dataOf(message);
  const channel = data?.['channel'];
  if (typeof channel !== 'string') return malformed(missingChannel('pusher:subscribe'));
  const auth = optionalString(data?.['auth']);
  const channelData = optionalString(data?.['channel_data']);
  if (auth === 'not-a-string') {
    return malformed('Invalid pusher:subscribe message: auth must be a string');
  }
  if (channelData === 'not-a-string') {
    return malformed('Invalid pusher:subscribe message: channel_data must be a string of JSON');
  }
  const place = readPlace(data);
  if (typeof place === 'string') return malformed(place);
  return { type: 'subscribe', channel, auth: auth?.text, channelData: channelData?.text, place };
}

/** The limit of a client's earlier connections that count. */
const RESUME_SOCKET_IDS_MAX = 100;

/** Reads a client's position, which may be made up. Returns a text if it is malformed. */
function readPlace(data: JsonObject | undefined): ResumePlace | string | undefined {
  const after = data?.['resume_after_id'];
  if (after === undefined || after === null) return undefined;
  if (typeof after !== 'string') {
    return 'Invalid pusher:subscribe message: resume_after_id must be a string';
  }
  const ids: unknown = data?.['resume_socket_ids'] ?? [];
  if (!Array.isArray(ids)) {
    return 'Invalid pusher:subscribe message: resume_socket_ids must be an array of socket ids';
  }
  return {
    after: after === '' ? 'none' : (parseEventId(after) ?? 'unknown'),
    socketIds: ids
      .slice(-RESUME_SOCKET_IDS_MAX)
      .filter((id) => typeof id === 'string' && parseSocketId(id) !== undefined),
  };
}

/** What is wrong with a sign-in that has no `user_data`, unless it has a token. */
export const USER_DATA_RULE = 'Invalid pusher:signin message: user_data must be a string of JSON';

function readSignIn(message: JsonObject): ClientMessage {
  const data = dataOf(message);
  const auth = data?.['auth'];
  const userData = data?.['user_data'];
  if (typeof auth !== 'string') {
    return malformed('Invalid pusher:signin message: auth must be a string');
  }
  if (userData !== undefined && userData !== null && typeof userData !== 'string') {
    return malformed(USER_DATA_RULE);
  }
  return { type: 'signin', auth, userData: userData ?? undefined };
}

/** Treats empty, null and absent alike. Source: §5.3. */
function optionalString(value: unknown): { text: string } | 'not-a-string' | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? { text: value } : 'not-a-string';
}

function readClientEvent(event: string, message: JsonObject, frame: string): ClientMessage {
  const channel = message['channel'];
  const data = memberText(frame, 'data');
  if (typeof channel !== 'string' || data === undefined) {
    return malformed('Invalid client event (must contain channel and data)');
  }
  const value = message['data'];
  return {
    type: 'client-event',
    event,
    channel,
    // An object is passed on as its exact JSON text. Source: §7.
    dataLiteral: typeof value === 'string' ? data : JSON.stringify(data),
    dataBytes: Buffer.byteLength(typeof value === 'string' ? value : data),
  };
}

function missingChannel(event: string): string {
  return `Invalid ${event} message: data.channel must be a string`;
}

function malformed(why: string): ClientMessage {
  return { type: 'malformed', why };
}

/** The member in a presence subscription's `channel_data`, or the error in it. */
export type ParsedChannelData =
  | { readonly ok: true; readonly member: Member }
  | {
      readonly ok: false;
      readonly why: 'not-an-object' | 'no-user-id' | 'user-id-too-long' | 'user-info-not-an-object';
    }
  | { readonly ok: false; readonly why: 'user-info-too-large' };

/** Characters. Source: Channels protocol, §16. */
export const USER_ID_LENGTH_MAX = 128;
/** The limit of the JSON text of `user_info`. Source: Channels protocol, §16. */
export const USER_INFO_BYTES_MAX = 1024;

/** Reads `channel_data`; keeps both values exactly as they were signed. Source: §6. */
export function readChannelData(text: string): ParsedChannelData {
  const data = asObject(parseJson(text));
  if (data === undefined) return { ok: false, why: 'not-an-object' };
  const userId = userIdOf(data['user_id'], text);
  if (userId === '') return { ok: false, why: 'no-user-id' };
  if (hasMoreCharacters(userId, USER_ID_LENGTH_MAX)) return { ok: false, why: 'user-id-too-long' };

  const info = data['user_info'];
  if (info === undefined || info === null) {
    return { ok: true, member: { userId, userInfo: undefined } };
  }
  if (asObject(info) === undefined) return { ok: false, why: 'user-info-not-an-object' };
  const userInfo = memberText(text, 'user_info') ?? '{}';
  if (Buffer.byteLength(userInfo) > USER_INFO_BYTES_MAX) {
    return { ok: false, why: 'user-info-too-large' };
  }
  return { ok: true, member: { userId, userInfo } };
}

/** The id as a string; empty if it is no id. */
function userIdOf(id: unknown, text: string): string {
  if (typeof id === 'string') return id;
  // Digits are copied from the text, because a large number would lose some.
  return typeof id === 'number' ? (memberText(text, 'user_id') ?? '') : '';
}

/** The user in a sign-in's `user_data`, or the error in it. */
export type ParsedUserData =
  | { readonly ok: true; readonly user: UserData }
  | {
      readonly ok: false;
      readonly why: 'not-an-object' | 'no-id' | 'user-info-not-an-object' | 'bad-watchlist';
    };

export interface UserData {
  readonly id: string;
  /** JSON text, exactly as it was signed. */
  readonly userInfo: string | undefined;
  readonly watchlist: readonly string[];
  /** `false`: live pushes do not count its connections, because it is a program rather than a person. */
  readonly isLive?: false;
}

/** Reads `user_data`. Source: §8.1. */
export function readUserData(text: string): ParsedUserData {
  const data = asObject(parseJson(text));
  if (data === undefined) return { ok: false, why: 'not-an-object' };
  const id = data['id'];
  if (typeof id !== 'string' || id === '') return { ok: false, why: 'no-id' };
  const info = data['user_info'];
  const hasInfo = info !== undefined && info !== null;
  if (hasInfo && asObject(info) === undefined) return { ok: false, why: 'user-info-not-an-object' };
  const watchlist: unknown = data['watchlist'] ?? [];
  if (!Array.isArray(watchlist) || !watchlist.every((entry) => typeof entry === 'string')) {
    return { ok: false, why: 'bad-watchlist' };
  }
  const userInfo = hasInfo ? memberText(text, 'user_info') : undefined;
  const user = { id, userInfo, watchlist };
  return { ok: true, user: data['live'] === false ? { ...user, isLive: false } : user };
}

/** Confirms a sign-in with the same text that was signed. Source: §8.1. */
export function signInSucceeded(userData: string): string {
  const data = JSON.stringify({ user_data: userData });
  return `{"event":"pusher:signin_success","data":${JSON.stringify(data)}}`;
}

/** Lists watched users who are online and offline; empty lists are left out. Source: §8.3. */
export function watchlistEvents(online: readonly string[], offline: readonly string[]): string {
  const events = [
    ...(online.length > 0 ? [{ name: 'online', user_ids: online }] : []),
    ...(offline.length > 0 ? [{ name: 'offline', user_ids: offline }] : []),
  ];
  return `{"event":"pusher_internal:watchlist_events","data":${JSON.stringify(JSON.stringify({ events }))}}`;
}

/** Source: §9. */
export function subscriptionCount(channel: ChannelText, count: number, users?: number): string {
  const more = users === undefined ? '' : `,\\"user_count\\":${users}`;
  return `{"event":"pusher_internal:subscription_count","channel":"${channel}","data":"{\\"subscription_count\\":${count}${more}}"}`;
}

/** What this server can do beyond the protocol, for clients that ask for it. */
const EXTRAS = ',\\"extras\\":[\\"resume\\"]';

/**
 * The first message on every connection. `activityTimeoutSeconds` must not be 0: pusher-js throws then. `withExtras` is for
 * clients that ask; for others, no byte may change.
 */
export function connectionEstablished(
  socketId: SocketId,
  activityTimeoutSeconds: number,
  withExtras = false,
): string {
  const extras = withExtras ? EXTRAS : '';
  return `{"event":"pusher:connection_established","data":"{\\"socket_id\\":\\"${socketId}\\",\\"activity_timeout\\":${activityTimeoutSeconds}${extras}}"}`;
}

/** The one message whose `data` is an object; its code is `null` for most in-band errors. Source: §2, §4. */
export function errorMessage(code: number | null, message: string): string {
  return `{"event":"pusher:error","data":{"code":${code},"message":${JSON.stringify(message)}}}`;
}

/** The confirmation of a subscription, without which Swift's channel never becomes subscribed. */
export function subscriptionSucceeded(channel: ChannelText, resume?: ResumeAnswer): string {
  if (resume === undefined) {
    return `{"event":"pusher_internal:subscription_succeeded","channel":"${channel}","data":"{}"}`;
  }
  const data = JSON.stringify({ resume });
  return `{"event":"pusher_internal:subscription_succeeded","channel":"${channel}","data":${JSON.stringify(data)}}`;
}

/**
 * The confirmation of a presence subscription, with all members including the new one, or with some of a large channel that has
 * `users`. Source: §6.
 */
export function presenceSucceeded(
  channel: ChannelText,
  { members, users = members.length }: Pick<Entered, 'members' | 'users'>,
  resume?: ResumeAnswer,
): string {
  const ids: string[] = [];
  const hash: string[] = [];
  for (const member of members) {
    const id = JSON.stringify(member.userId);
    ids.push(id);
    hash.push(`${id}:${member.userInfo ?? 'null'}`);
  }
  const end = resume === undefined ? '' : `,"resume":${JSON.stringify(resume)}`;
  const data = `{"presence":{"count":${users},"ids":[${ids.join(',')}],"hash":{${hash.join(',')}}}${end}}`;
  return `{"event":"pusher_internal:subscription_succeeded","channel":"${channel}","data":${JSON.stringify(data)}}`;
}

/** Why a subscription was refused, as clients see it. */
interface SubscriptionFault {
  readonly type: 'AuthError' | 'LimitReached';
  readonly status: number;
  readonly error: string;
}

/** Reports a refused subscription; pusher-js passes it to the handlers of the channel. Source: §5.3. */
export function subscriptionError(
  channel: string,
  { type, error, status }: SubscriptionFault,
): string {
  const data = JSON.stringify({ type, error, status });
  return `{"event":"pusher:subscription_error","channel":${JSON.stringify(channel)},"data":${JSON.stringify(data)}}`;
}

export function memberAdded(channel: ChannelText, member: Member): string {
  const data = memberJson(member);
  return `{"event":"pusher_internal:member_added","channel":"${channel}","data":${JSON.stringify(data)}}`;
}

function memberJson({ userId, userInfo }: Member): string {
  const info = userInfo === undefined ? '' : `,"user_info":${userInfo}`;
  return `{"user_id":${JSON.stringify(userId)}${info}}`;
}

export function memberRemoved(channel: ChannelText, userId: string): string {
  const data = `{"user_id":${JSON.stringify(userId)}}`;
  return `{"event":"pusher_internal:member_removed","channel":"${channel}","data":${JSON.stringify(data)}}`;
}

/** Members of a large channel that have joined and left lately, as an ordinary event. */
export function memberBatch(
  channel: ChannelText,
  {
    joined,
    left,
    more,
  }: {
    readonly joined: readonly Member[];
    readonly left: readonly string[];
    readonly more: number;
  },
): string {
  const data = `{"joined":[${joined.map(memberJson).join(',')}],"left":${JSON.stringify(left)},"more":${more}}`;
  return `{"event":"fanfare:members","channel":"${channel}","data":${JSON.stringify(data)}}`;
}

/** An event of a backend; `id` if its channel keeps a history. */
export function eventMessage(
  name: string,
  channel: ChannelText,
  data: string,
  id?: EventId,
): string {
  const end = id === undefined ? '}' : endWithId(id);
  return `{"event":${JSON.stringify(name)},"channel":"${channel}","data":${JSON.stringify(data)}${end}`;
}

/** Returns the name and the data of an event with an id as JSON texts, without parsing its frame. */
export function eventParts(
  frame: string,
  channel: ChannelText,
  id: EventId,
): { readonly name: string; readonly data: string } {
  // In a JSON text, the name cannot contain this: its quotation marks would be escaped.
  const middle = `,"channel":"${channel}","data":`;
  const at = frame.indexOf(middle);
  return {
    name: frame.slice('{"event":'.length, at),
    data: frame.slice(at + middle.length, -endWithId(id).length),
  };
}

/** An id at the end of a frame. No data can look like it: their quotation marks are escaped. */
const EVENT_ID_AT_END = /,"id":"([^"]+)"\}$/;
const EVENT_ID_AT_END_MAX = 40;

/** Returns the id of an event without parsing its frame; `undefined`: it has none, or the frame is no event. */
export function eventIdIn(frame: string): EventId | undefined {
  const [, id = ''] = EVENT_ID_AT_END.exec(frame.slice(-EVENT_ID_AT_END_MAX)) ?? [];
  return parseEventId(id);
}

/** Returns the channel of a frame without parsing it; `undefined`: it is about no channel. */
export function channelIn(frame: string): string | undefined {
  // The name of an event cannot contain this.
  const before = ',"channel":"';
  const at = frame.indexOf(before);
  if (at < 0) return undefined;
  const from = at + before.length;
  return frame.slice(from, frame.indexOf('"', from));
}

/** Whether a frame is a message of the protocol: neither backends nor clients may use such names for events. */
export function isOfProtocol(frame: string): boolean {
  return frame.startsWith('{"event":"pusher:') || frame.startsWith('{"event":"pusher_internal:');
}

/** What confirms a subscription, up to the name of its channel. */
const CONFIRMED = '{"event":"pusher_internal:subscription_succeeded","channel":"';
/** At the end, where no member of a presence channel can imitate it: members are deeper within braces. */
const RESUME_AT_END =
  /\\"resume\\":\{\\"ok\\":(?:true|false),\\"id\\":\\"([^"\\]*)\\",\\"missed\\":(\d+)(?:,\\"why\\":\\"([a-z-]+)\\")?\}\}"\}$/;
const RESUME_AT_END_MAX = 160;

/** What the confirmation of a subscription says about resuming. */
interface Confirmation {
  /** The newest event of the channel; `''`: it keeps no history. */
  readonly id: EventId | '';
  readonly missed: number;
  /** Why the client cannot get everything that it missed; `undefined`: it can, or there is nothing. */
  readonly why: string | undefined;
}

/** Reads a confirmation without parsing the members in it; `undefined`: the frame is another one. */
export function readConfirmation(frame: string): Confirmation | undefined {
  if (!frame.startsWith(CONFIRMED)) return undefined;
  const match = RESUME_AT_END.exec(frame.slice(-RESUME_AT_END_MAX));
  if (match === null) return { id: '', missed: 0, why: undefined };
  const [, id = '', missed, why] = match;
  return { id: parseEventId(id) ?? '', missed: Number(missed), why };
}

/** Adds the id of an event to its frame. */
export function withEventId(frame: string, id: EventId): string {
  return `${frame.slice(0, -1)}${endWithId(id)}`;
}

/** The id is always the last member: clients read it at the end of the text. */
function endWithId(id: EventId): string {
  return `,"id":"${id}"}`;
}

/** An event of a client; `userId` on presence channels only. Source: §7. */
export function clientEventMessage(
  name: string,
  channel: ChannelText,
  dataLiteral: string,
  userId: string | undefined,
): string {
  const user = userId === undefined ? '' : `,"user_id":${JSON.stringify(userId)}`;
  return `{"event":${JSON.stringify(name)},"channel":"${channel}","data":${dataLiteral}${user}}`;
}

export function cacheMiss(channel: ChannelText): string {
  return `{"event":"pusher:cache_miss","channel":"${channel}","data":"{}"}`;
}

export const PING = '{"event":"pusher:ping","data":"{}"}';
export const PONG = '{"event":"pusher:pong","data":"{}"}';
