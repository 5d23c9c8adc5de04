import type { AppAddress } from '../../bench-app.ts';
import { channelNames } from '../../connections/subscriptions.ts';
import { clientMessage } from '../../load/frames.ts';
import { socketIdIn, subscribeMessage } from '../../load/subscribe-message.ts';

/** The members of a presence channel. */
export const ROOM = 20;

/** Which channel each client of a crowd subscribes to. Clients have numbers from 0 on. */
export type Seating =
  /** One of so many public channels, in turns. */
  | { readonly kind: 'public'; readonly channels: number }
  /** A presence channel of `ROOM` members, as a user of its own. */
  | { readonly kind: 'presence'; readonly channels: number };

/** Where the clients of a crowd belong. */
export interface Seats {
  readonly channels: readonly string[];
  channelOf(client: number): number;
  /** The frame that subscribes a client, given the text of `pusher:connection_established`. */
  subscribeFrame(client: number, established: string): Uint8Array;
}

export function seatsOf(app: AppAddress, { kind, channels: count }: Seating): Seats {
  if (kind === 'presence') return presenceSeats(app, count);
  const channels = channelNames(count);
  const frames = channels.map((channel) =>
    clientMessage({ event: 'pusher:subscribe', data: { channel } }),
  );
  const channelOf = (client: number) => client % count;
  return {
    channels,
    channelOf,
    subscribeFrame: (client) => frames[channelOf(client)] ?? new Uint8Array(),
  };
}

function presenceSeats(app: AppAddress, count: number): Seats {
  const channels = channelNames(count, 'presence-');
  const channelOf = (client: number) => Math.floor(client / ROOM);
  return {
    channels,
    channelOf,
    subscribeFrame(client, established) {
      const channel = channels[channelOf(client)] ?? '';
      return clientMessage(subscribeMessage(app, socketIdIn(established), channel, userOf(client)));
    },
  };
}

/** The user of a client in its presence channel. */
export const userOf = (client: number): string => String(client);
