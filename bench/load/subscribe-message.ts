import type { AppAddress } from '../bench-app.ts';

/** Who signs. */
export type Signer = Pick<AppAddress, 'key' | 'secret'>;

/** The info of presence members, in addition to their id. */
const USER_INFO = { name: 'Somebody Or Other', seat: 'fourth row' };

/**
 * Builds the message that subscribes a connection, signed if the channel requires it. `userId` makes it a member of a
 * presence channel. Source: Channels protocol, "Authenticating users".
 */
export function subscribeMessage(
  app: Signer,
  socketId: string,
  channel: string,
  userId: string | undefined,
): object {
  if (!/^(?:private|presence)-/.test(channel)) {
    return { event: 'pusher:subscribe', data: { channel } };
  }
  const channelData =
    userId === undefined ? undefined : JSON.stringify({ user_id: userId, user_info: USER_INFO });
  const signed = [socketId, channel, ...(channelData === undefined ? [] : [channelData])].join(':');
  const signature = new Bun.CryptoHasher('sha256', app.secret).update(signed).digest('hex');
  return {
    event: 'pusher:subscribe',
    data: { channel, auth: `${app.key}:${signature}`, channel_data: channelData },
  };
}

/** Reads the socket id in `pusher:connection_established`. Its data is an object for some servers, else text. */
export function socketIdIn(established: string): string {
  const found = /\\?"socket_id\\?"\s*:\s*\\?"([\d.]+)\\?"/.exec(established)?.[1];
  if (found === undefined) throw new Error(`a connection without a socket id: ${established}`);
  return found;
}
