import type { ServerWebSocket } from 'bun';
import PusherJs, { type Options } from 'pusher-js';
import { Inbox } from '../../testing/inbox.ts';

/** What a client says when it subscribes. */
export interface SubscribeData {
  readonly channel: string;
  readonly auth?: string;
  readonly resume_after_id?: string;
  readonly resume_socket_ids?: readonly string[];
}

/** The answer of a channel that keeps a history. */
interface ResumeAnswer {
  readonly ok: boolean;
  readonly id?: string;
  readonly missed: number;
  readonly why?: string;
}

/** A server that says only what a test makes it say. Its connections have the ids `1.1`, `2.1` and so on. */
export class ScriptedServer implements Disposable {
  readonly subscribes = new Inbox<SubscribeData>('The server');
  private readonly sockets: ServerWebSocket<unknown>[] = [];
  private readonly clients: PusherJs[] = [];
  private readonly http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, server) => {
      server.upgrade(request, { data: undefined });
      return undefined;
    },
    websocket: {
      open: (socket) => {
        this.sockets.push(socket);
        const data = { socket_id: `${this.sockets.length}.1`, activity_timeout: 120 };
        this.send('pusher:connection_established', undefined, data);
      },
      message: (_, text) => {
        const { event, data } = JSON.parse(String(text));
        if (event === 'pusher:subscribe') this.subscribes.put(data);
        if (event === 'pusher:signin') {
          this.send('pusher:signin_success', undefined, { user_data: data.user_data });
        }
      },
    },
  });

  /** pusher-js, connected to it. */
  client(options: Partial<Options> = {}): PusherJs {
    const pusher = new PusherJs('key', {
      wsHost: '127.0.0.1',
      wsPort: this.http.port ?? 0,
      forceTLS: false,
      cluster: 'local',
      enabledTransports: ['ws'],
      ...options,
    });
    this.clients.push(pusher);
    return pusher;
  }

  /** Sends a frame on the newest connection. */
  send(event: string, channel: string | undefined, data: object, id?: string): void {
    this.sockets.at(-1)?.send(JSON.stringify({ event, channel, data: JSON.stringify(data), id }));
  }

  confirms(channel: string, resume?: ResumeAnswer): void {
    const data = resume === undefined ? {} : { resume };
    this.send('pusher_internal:subscription_succeeded', channel, data);
  }

  /** Closes the newest connection, so that the client comes back at once; gives its next subscription. */
  async cuts(): Promise<SubscribeData> {
    this.sockets.at(-1)?.close(4200);
    return await this.subscribes.next();
  }

  [Symbol.dispose](): void {
    for (const client of this.clients) client.disconnect();
    this.http.stop(true);
  }
}
