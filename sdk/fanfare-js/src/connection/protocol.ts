/** The version of pusher-js whose protocol and API this library has. */
export const PUSHER_JS_VERSION = '8.6.0';

/** A message of the server, or an event. */
export interface PusherEvent {
  event: string;
  channel?: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever a backend or another client has sent
  data?: any;
  user_id?: string;
  /** Where the server keeps a history. */
  id?: string;
}

/** What a transport says when a connection has ended. */
export interface CloseEvent {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly wasClean?: boolean;
}

/** What follows when a connection has ended. */
export type CloseAction = 'tls_only' | 'refused' | 'backoff' | 'retry';

export interface PusherError {
  readonly type: 'PusherError';
  readonly data: { readonly code: number | undefined; readonly message: string | undefined };
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** Reads a frame of the server. Throws if it is none. */
export function decode({ data: frame }: { readonly data: string }): PusherEvent {
  const { event, channel, data, user_id, id } = JSON.parse(frame);
  if (typeof event !== 'string') throw 'A frame without an event';
  return {
    event,
    channel,
    data: typeof data === 'string' ? parsed(data) : data,
    ...(user_id && { user_id }),
    ...(id && { id }),
  };
}

/** What follows from the code of a close frame or of an error in place of the handshake. Source: Channels protocol, §4. */
export function closeAction(code = 0): CloseAction {
  if (code === 4000) return 'tls_only';
  if (code < 4000 || (code > 4099 && code < 4200)) return 'backoff';
  return code > 4199 && code < 4300 ? 'retry' : 'refused';
}

/** Codes of the protocol are reported a second time, with what follows from them. */
export function isProtocolCode(code = 0): boolean {
  return code > 3999 || (code > 1001 && code < 1005);
}

/** What applications hear of an end; `undefined` if it was an ordinary one. */
export function closeError(event?: CloseEvent): PusherError | undefined {
  const { code, reason, message } = event ?? {};
  return code === 1000 || code === 1001
    ? undefined
    : { type: 'PusherError', data: { code, message: reason || message } };
}
