import { SessionRequests, type StreamedLines } from '../../../testing/clients/session-requests.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { fresh } from '../websocket/conversation.ts';

/** Sessions over a stream, as tests begin with them. */

export interface Opened extends Disposable {
  readonly session: SessionRequests;
  readonly stream: StreamedLines;
  readonly socketId: string;
}

/** The message that subscribes. */
export const subscribe = (channel: string, auth: object = {}) => ({
  event: 'pusher:subscribe',
  data: { channel, ...auth },
});

/** A session with an established connection. */
export async function opened(server: Fanfare): Promise<Opened> {
  const session = new SessionRequests(server);
  const stream = await session.stream();
  const socketId = await stream.opens();
  return { session, stream, socketId, [Symbol.dispose]: () => stream.break() };
}

/** A session in a channel of its own. */
export async function subscribed(server: Fanfare): Promise<Opened & { readonly channel: string }> {
  const given = await opened(server);
  const channel = fresh();
  await given.session.send(subscribe(channel));
  await given.stream.messages();
  return { ...given, channel };
}
