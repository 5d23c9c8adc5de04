import type { AppAddress } from '../bench-app.ts';

/** What the members of a presence channel tell of themselves, besides their id. */
const USER_INFO = { name: 'Somebody Or Other', seat: 'fourth row' };

/**
 * Builds the message that subscribes a connection, signed where the channel wants that. `userId` makes it
 * a member of a presence channel. Source: Channels protocol, "Authenticating users".
 */
export function subscribeMessage(
  app: AppAddress,
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
