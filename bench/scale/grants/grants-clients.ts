import { createHmac } from 'node:crypto';
import type { AppAddress } from '../../bench-app.ts';
import { socketIdIn, subscribeMessage } from '../../load/subscribe-message.ts';

/** What authorises a subscription. */
export type By = 'signature' | 'grant';

/** Three patterns: one covers what the clients subscribe to, and one is of the user alone. */
const grantsOf = (user: string) => ({
  channels: {
    'private-team-*': ['subscribe', 'client-events'],
    [`private-user-${user}`]: ['subscribe'],
    'presence-team-0000000000': ['subscribe'],
  },
  exp: Math.floor(Date.now() / 1000) + 86_400,
});

/** Clients that are signed in as users of their own, and what they still do is counted. */
export class GrantsClients implements Disposable {
  private readonly app: AppAddress;
  private readonly sockets: { readonly socket: WebSocket; readonly socketId: string }[] = [];
  private connected = 0;
  private awaited = 0;
  private done = Promise.withResolvers<void>();

  constructor(app: AppAddress) {
    this.app = app;
  }

  /** Connects this many more, a few at a time, and signs them in, with a grant or without. */
  async connect(count: number, by: By): Promise<void> {
    const AT_ONCE = 50;
    for (let at = 0; at < count; at += AT_ONCE) {
      const batch = Array.from({ length: Math.min(AT_ONCE, count - at) }, () => this.open(by));
      this.sockets.push(...(await Promise.all(batch)));
    }
  }

  /** Subscribes each connection to channels, and settles when all are confirmed. Returns how many there were. */
  async subscribe(channelsEach: number, by: By): Promise<number> {
    const { app, sockets } = this;
    // Signed before, so that the server is not kept waiting.
    const frames = sockets.map(({ socketId }) =>
      Array.from({ length: channelsEach }, (_, n) => {
        const channel = `private-team-${String(n).padStart(6, '0')}`;
        return JSON.stringify(
          by === 'signature'
            ? subscribeMessage(app, socketId, channel, undefined)
            : { event: 'pusher:subscribe', data: { channel, auth: '' } },
        );
      }),
    );
    this.awaited = sockets.length * channelsEach;
    this.done = Promise.withResolvers();
    for (const [at, { socket }] of sockets.entries()) {
      for (const frame of frames[at] ?? []) socket.send(frame);
    }
    await this.done.promise;
    return sockets.length * channelsEach;
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.sockets) socket.close();
  }

  private open(by: By): Promise<{ readonly socket: WebSocket; readonly socketId: string }> {
    const { host, port, key, secret } = this.app;
    const socket = new WebSocket(`ws://${host}:${port}/app/${key}?protocol=7`);
    this.connected += 1;
    const id = `user-${String(this.connected).padStart(8, '0')}`;
    const { promise, resolve, reject } = Promise.withResolvers<{
      readonly socket: WebSocket;
      readonly socketId: string;
    }>();
    let socketId = '';
    socket.onerror = () => reject(new Error('A connection failed'));
    socket.onclose = ({ code, reason }) => {
      reject(new Error(`A connection was closed: ${code} ${reason}`));
    };
    socket.onmessage = ({ data }) => {
      const text = String(data);
      if (text.includes('subscription_succeeded')) return this.confirmed();
      if (text.includes('connection_established')) {
        socketId = socketIdIn(text);
        const userData = JSON.stringify({ id, ...(by === 'grant' && { grants: grantsOf(id) }) });
        const signed = `${socketId}::user::${userData}`;
        const auth = `${key}:${createHmac('sha256', secret).update(signed).digest('hex')}`;
        socket.send(
          JSON.stringify({ event: 'pusher:signin', data: { auth, user_data: userData } }),
        );
      } else if (text.includes('signin_success')) resolve({ socket, socketId });
      else if (text.includes('error')) this.done.reject(new Error(text));
    };
    return promise;
  }

  private confirmed(): void {
    this.awaited -= 1;
    if (this.awaited === 0) this.done.resolve();
  }
}
