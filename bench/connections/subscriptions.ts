import { clientMessage } from '../load/frames.ts';
import { type Signer, socketIdIn, subscribeMessage } from '../load/subscribe-message.ts';

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

/** Requests channels that anybody may enter; the frames are built in advance. */
export function publicSubscriptions(names: readonly string[]): Subscriptions {
  const frames = Buffer.concat(
    names.map((channel) => clientMessage({ event: 'pusher:subscribe', data: { channel } })),
  );
  return { channels: names.length, frames: () => frames };
}

/**
 * Requests a private channel. The signature contains the socket id, which is only known once the connection is open,
 * so signing costs the load generator a few microseconds per connection. Source: Channels protocol, §5.5.
 */
export function privateSubscription(app: Signer, channel: string): Subscriptions {
  return {
    channels: 1,
    frames(established) {
      return clientMessage(subscribeMessage(app, socketIdIn(established), channel, undefined));
    },
  };
}
