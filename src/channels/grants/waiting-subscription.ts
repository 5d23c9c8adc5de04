import type { ChannelName } from '../channel-name.ts';
import type { ClientMessage } from '../wire.ts';

/** The limit of subscriptions of one connection that wait for its sign-in. */
export const WAITING_MAX = 100;

/** The limit of the `channel_data` of one that waits. Bytes. */
export const WAITING_DATA_BYTES_MAX = 2048;

/** Memory of a waiting subscription that counts as one subscription. Bytes, roughly. */
const UNIT_BYTES = 1024;
const SOCKET_ID_BYTES = 40;

/** A subscription without authorisation that waits for a sign-in which may cover it. Source: identity, §3.3. */
export interface WaitingSubscription {
  readonly channel: ChannelName;
  readonly message: Extract<ClientMessage, { type: 'subscribe' }>;
  /** When it gives up. Milliseconds since 1970, as the clock of grants. */
  readonly untilMs: number;
  /** The subscriptions that it counts as, for the limit of the server. */
  readonly units: number;
}

/** How many subscriptions a waiting one counts as: it takes more memory than others. */
export function unitsOf({ channelData = '', place }: WaitingSubscription['message']): number {
  const ids = place?.socketIds.length ?? 0;
  return 1 + Math.floor((2 * channelData.length + SOCKET_ID_BYTES * ids) / UNIT_BYTES);
}
