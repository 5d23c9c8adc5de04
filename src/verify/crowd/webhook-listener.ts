import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { recordOf } from '../../doctor/client/client-messages.ts';
import { type Recorder, recorded } from './recorder.ts';

const BODY_BYTES_MAX = 1024 * 1024;

export interface WebhookListenerOptions {
  readonly port: number;
  readonly secret: string;
  readonly recorder: Recorder;
  /** Whether a channel is one of this run. */
  readonly isOwn: (channel: string) => boolean;
}

/** Takes the webhooks of the app. Those of other channels are accepted and forgotten. */
export class WebhookListener implements AsyncDisposable {
  private readonly options: WebhookListenerOptions;
  private readonly server: Server;

  private constructor(options: WebhookListenerOptions) {
    this.options = options;
    this.server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      request.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > BODY_BYTES_MAX) request.destroy();
        else pieces.push(piece);
      });
      request.on('error', () => undefined);
      request.on('end', () => {
        this.take(Buffer.concat(pieces), request.headers['x-pusher-signature'], response);
      });
    });
  }

  /** Listens. Rejects if the port is taken. */
  static async start(options: WebhookListenerOptions): Promise<WebhookListener> {
    const listener = new WebhookListener(options);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    listener.server.once('error', reject);
    listener.server.listen(options.port, resolve);
    await promise;
    return listener;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(body: Buffer, signature: unknown, response: ServerResponse): void {
    const { secret, recorder, isOwn } = this.options;
    const expected = createHmac('sha256', secret).update(body).digest();
    const given = Buffer.from(typeof signature === 'string' ? signature : '', 'hex');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      return void response.writeHead(401).end();
    }
    const content = recordOf(body.toString());
    const time = Number(content?.['time_ms']);
    const events: readonly unknown[] = Array.isArray(content?.['events']) ? content['events'] : [];
    const request = createHash('sha256').update(body).digest('hex');
    const { now } = recorder;
    for (const event of events) {
      const { name, channel, user_id: user } = recordOf(event) ?? {};
      if (typeof name !== 'string' || typeof channel !== 'string' || !isOwn(channel)) continue;
      const fields = {
        ch: recorded(channel),
        name: recorded(name),
        user: typeof user === 'string' ? recorded(user) : undefined,
        time: time >= 0 && time < Infinity ? time : 0,
        request,
      };
      recorder.add('webhook', fields, now);
    }
    response.writeHead(200).end();
  }
}
