/** The messages of a client. Not the server's own module, because the doctor examines other servers too. */

/** One message of a server, as far as it can be read. */
export interface ServerMessage {
  readonly event: string;
  readonly channel?: string;
  /** As it was sent. It should be a string in every message except `pusher:error`. */
  readonly data: unknown;
  /** The id of an event in the history of its channel. */
  readonly id?: string;
}

/** A refusal of a server. */
export interface ServerError {
  readonly code: number | null;
  readonly message: string;
}

export interface Established {
  readonly socketId: string;
  /** Seconds; absent before protocol 7. */
  readonly activityTimeoutSeconds: number | undefined;
  /** Whether `data` was a string, as the libraries expect. */
  readonly asString: boolean;
}

/** The path of a client's connection. Source: Channels protocol, §1. */
export function clientPath(prefix: string, key: string, client = 'fanfare-doctor'): string {
  return `${prefix}/app/${encodeURIComponent(key)}?protocol=7&client=${client}&version=1.0.0&flash=false`;
}

export const PING_EVENT = 'pusher:ping';
export const ping = JSON.stringify({ event: PING_EVENT, data: {} });
export const pong = JSON.stringify({ event: 'pusher:pong', data: {} });

/** What a subscription may have beside its signature. */
export interface SubscribeFields {
  /** Of a presence channel: the user, as it was signed. */
  readonly channel_data?: string;
  /** Of a client that resumes: the last event that it has (`''`: none yet), and its sockets since then. */
  readonly resume_after_id?: string;
  readonly resume_socket_ids?: readonly string[];
}

export function subscribe(channel: string, auth?: string, fields: SubscribeFields = {}): string {
  return JSON.stringify({
    event: 'pusher:subscribe',
    data: { channel, ...(auth === undefined ? {} : { auth }), ...fields },
  });
}

export function unsubscribe(channel: string): string {
  return JSON.stringify({ event: 'pusher:unsubscribe', data: { channel } });
}

/** Reads one message; `undefined` if it is not one of this protocol. */
export function readServerMessage(text: string): ServerMessage | undefined {
  const value = recordOf(text);
  if (value === undefined || typeof value['event'] !== 'string') return undefined;
  const { channel, id } = value;
  return {
    event: value['event'],
    ...(typeof channel === 'string' ? { channel } : {}),
    data: value['data'],
    ...(typeof id === 'string' ? { id } : {}),
  };
}

/** What a message says about the channel that it names. */
export type ChannelNews =
  | {
      readonly kind: 'subscribed';
      readonly members: readonly string[] | undefined;
      readonly resume: Resumption | undefined;
    }
  | { readonly kind: 'joined' | 'left'; readonly user: string }
  | { readonly kind: 'counted'; readonly count: number };

/** Whether a server could send everything that a client has missed. */
export interface Resumption {
  readonly ok: boolean;
  readonly missed: number;
  readonly id: string;
}

/** Reads a message of the server itself about a channel; `undefined` for events and everything else. */
export function channelNewsOf({ event, data }: ServerMessage): ChannelNews | undefined {
  const value = recordOf(data);
  switch (event) {
    case 'pusher_internal:subscription_succeeded': {
      const ids = recordOf(value?.['presence'])?.['ids'];
      const members = Array.isArray(ids) ? ids.map(String) : undefined;
      return { kind: 'subscribed', members, resume: resumptionOf(value?.['resume']) };
    }
    case 'pusher_internal:member_added':
      return { kind: 'joined', user: String(value?.['user_id']) };
    case 'pusher_internal:member_removed':
      return { kind: 'left', user: String(value?.['user_id']) };
    case 'pusher_internal:subscription_count':
      return { kind: 'counted', count: Number(value?.['subscription_count']) };
    default:
      return undefined;
  }
}

function resumptionOf(value: unknown): Resumption | undefined {
  const { ok, missed, id } = recordOf(value) ?? {};
  return typeof ok === 'boolean' && typeof missed === 'number' && typeof id === 'string'
    ? { ok, missed, id }
    : undefined;
}

export function isPing({ event }: ServerMessage): boolean {
  return event === PING_EVENT;
}

export function isPong({ event }: ServerMessage): boolean {
  return event === 'pusher:pong';
}

export function isConfirmation({ event, channel }: ServerMessage, of: string): boolean {
  return event === 'pusher_internal:subscription_succeeded' && channel === of;
}

/** Reads a refusal: of anything, or of the subscription to one channel. */
export function errorOf({ event, data }: ServerMessage): ServerError | undefined {
  if (event !== 'pusher:error' && event !== 'pusher:subscription_error') return undefined;
  const value = recordOf(data);
  const code = value?.['code'];
  const message = value?.['message'] ?? value?.['error'];
  return {
    code: typeof code === 'number' ? code : null,
    message: typeof message === 'string' ? message : '',
  };
}

/** Reads the message that a connection begins with. Source: Channels protocol, §1.2. */
export function establishedOf({ event, data }: ServerMessage): Established | undefined {
  if (event !== 'pusher:connection_established') return undefined;
  const value = recordOf(data);
  const socketId = value?.['socket_id'];
  if (typeof socketId !== 'string') return undefined;
  const seconds = value?.['activity_timeout'];
  return {
    socketId,
    activityTimeoutSeconds: typeof seconds === 'number' ? seconds : undefined,
    asString: typeof data === 'string',
  };
}

/** A JSON object, given as text or already read. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  let read = value;
  if (typeof value === 'string') {
    try {
      read = JSON.parse(value);
    } catch {
      // Invalid JSON is treated like a value that is not an object; the caller reports what was expected.
      return undefined;
    }
  }
  return typeof read === 'object' && read !== null && !Array.isArray(read)
    ? (read as Readonly<Record<string, unknown>>)
    : undefined;
}
