import type TransportConnection from '../transports/transport-connection.ts';
import {
  type CloseAction,
  type CloseEvent,
  closeAction,
  closeError,
  decode,
  type PusherError,
} from './protocol.ts';

/** What the first frame of a connection has said, or its end. */
export type Handshake = { readonly transport: TransportConnection } & (
  | {
      readonly action: 'connected';
      readonly id: string;
      readonly activityTimeout: number;
      readonly extras: readonly string[];
    }
  | { readonly action: CloseAction; readonly error: PusherError | undefined }
  | { readonly action: 'error'; readonly error: unknown }
);

export function readHandshake(
  message: { readonly data: string },
  transport: TransportConnection,
): Handshake {
  try {
    const { event, data } = decode(message);
    if (event === 'pusher:error') return handshakeEnded(data, transport);
    const { socket_id: id, activity_timeout, extras } = data ?? {};
    if (event !== 'pusher:connection_established' || !activity_timeout) throw 'Invalid handshake';
    return {
      transport,
      action: 'connected',
      id,
      activityTimeout: activity_timeout * 1000,
      extras: Array.isArray(extras) ? extras : [],
    };
  } catch (error) {
    return { transport, action: 'error', error };
  }
}

/** The connection has ended in place of a handshake. */
export function handshakeEnded(
  event: CloseEvent | undefined,
  transport: TransportConnection,
): Handshake {
  return { transport, action: closeAction(event?.code), error: closeError(event) };
}
