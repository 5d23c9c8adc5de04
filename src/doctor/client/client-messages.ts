/** The messages of a client. Not the server's own module, because the doctor examines other servers too. */

/** One message of a server, as far as it can be read. */
export interface ServerMessage {
  readonly event: string;
  readonly channel?: string;
  /** As it was sent. It should be a string in every message except `pusher:error`. */
  readonly data: unknown;
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
export function clientPath(prefix: string, key: string): string {
  return `${prefix}/app/${encodeURIComponent(key)}?protocol=7&client=fanfare-doctor&version=1.0.0&flash=false`;
}

export const PING_EVENT = 'pusher:ping';
export const ping = JSON.stringify({ event: PING_EVENT, data: {} });
export const pong = JSON.stringify({ event: 'pusher:pong', data: {} });

export function subscribe(channel: string, auth?: string): string {
  return JSON.stringify({
    event: 'pusher:subscribe',
    data: { channel, ...(auth === undefined ? {} : { auth }) },
  });
}

/** Reads one message; `undefined` if it is not one of this protocol. */
export function readServerMessage(text: string): ServerMessage | undefined {
  const value = recordOf(text);
  if (value === undefined || typeof value['event'] !== 'string') return undefined;
  const { channel } = value;
  return {
    event: value['event'],
    ...(typeof channel === 'string' ? { channel } : {}),
    data: value['data'],
  };
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
