import type { AppAddress } from '../bench-app.ts';
import { clientMessage } from '../load/frames.ts';

/** The channels that one connection is to be in. */
export interface Subscriptions {
  readonly channels: number;
  /** The frames that subscribe to them, given the text of `pusher:connection_established`. */
  frames(established: string): Uint8Array;
}

/** Names channels. One width for all, so that each costs a server the same. */
export function channelNames(count: number, prefix = ''): string[] {
  return Array.from(
    { length: count },
    (_, number) => `${prefix}bench-${String(number).padStart(6, '0')}`,
  );
}

/** Wishes for channels that anybody may enter; the frames are built now. */
export function publicSubscriptions(names: readonly string[]): Subscriptions {
  const frames = Buffer.concat(
    names.map((channel) => clientMessage({ event: 'pusher:subscribe', data: { channel } })),
  );
  return { channels: names.length, frames: () => frames };
}

/**
 * Wishes for a private channel. Its signature is over the socket id, which nobody knows before the connection
 * is there, so it costs the load some microseconds of each connection. Source: Channels protocol, §5.5.
 */
export function privateSubscription(
  app: Pick<AppAddress, 'key' | 'secret'>,
  channel: string,
): Subscriptions {
  return {
    channels: 1,
    frames(established) {
      const signature = new Bun.CryptoHasher('sha256', app.secret)
        .update(`${socketIdIn(established)}:${channel}`)
        .digest('hex');
      return clientMessage({
        event: 'pusher:subscribe',
        data: { channel, auth: `${app.key}:${signature}` },
      });
    },
  };
}

/** Reads the socket id; its data is an object for some servers, and the text of one for most. */
function socketIdIn(established: string): string {
  const found = /\\?"socket_id\\?"\s*:\s*\\?"([\d.]+)\\?"/.exec(established)?.[1];
  if (found === undefined) throw new Error(`a connection without a socket id: ${established}`);
  return found;
}
