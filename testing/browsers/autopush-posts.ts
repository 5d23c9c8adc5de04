import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type MessageRefusal,
  readPush,
  refusePush,
} from '../../src/fake-gateways/web/push-message.ts';
import { Inbox } from '../inbox.ts';
import type { Channel, Message, PushSubscriptions } from './push-subscriptions.ts';

export interface PushedMessage {
  readonly endpoint: string;
  readonly headers: IncomingMessage['headers'];
  /** Encrypted. */
  readonly body: Buffer;
  /** The status of the answer; `undefined`: the connection was reset. */
  readonly status: number | undefined;
}

export type PushFailure =
  | { readonly kind: 'answer'; readonly status: number; readonly headers?: Record<string, string> }
  /** The connection ends without an answer. */
  | { readonly kind: 'reset' }
  /** It is answered when this settles. */
  | { readonly kind: 'slow'; readonly until: Promise<unknown> };

/** The answer to a post, with the message if it is accepted. */
interface Verdict {
  readonly answer: {
    readonly status: number;
    readonly headers: Record<string, string>;
    readonly body: string;
  };
  readonly accepted?: { readonly channel: Channel; readonly message: Message };
}

const ENDPOINT_PATH = '/wpush/v2/';

/** The side of the push service that servers post to. The errnos are in autopush-rs, "Error Codes". */
export class AutopushPosts {
  readonly pushed = new Inbox<PushedMessage>('The push service');
  /** What happens to the next posts, one each, instead of an answer. */
  readonly failures: PushFailure[] = [];
  /** The origin of all endpoints. */
  origin = '';
  private readonly subscriptions: PushSubscriptions;
  private readonly http = createServer((request, response) => {
    this.receive(request, response).catch((error: unknown) => {
      this.pushed.fail(error instanceof Error ? error : new Error(String(error)));
      response.destroy();
    });
  });

  private constructor(subscriptions: PushSubscriptions) {
    this.subscriptions = subscriptions;
  }

  static async start(subscriptions: PushSubscriptions): Promise<AutopushPosts> {
    const posts = new AutopushPosts(subscriptions);
    await new Promise<void>((resolve) => {
      posts.http.listen(0, '127.0.0.1', resolve);
    });
    posts.origin = `http://localhost:${(posts.http.address() as AddressInfo).port}`;
    return posts;
  }

  readonly endpointOf = (token: string): string => this.origin + ENDPOINT_PATH + token;

  /** The channel of an endpoint, if it is one of ours. */
  channelOf(endpoint: string): Channel | undefined {
    return this.subscriptions.byToken(endpoint.slice(this.endpointOf('').length));
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise((resolve) => {
      this.http.close(resolve);
    });
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const { headers, url = '' } = request;
    const record = (status: number | undefined) =>
      this.pushed.put({ endpoint: this.origin + url, headers, body, status });

    const failure = this.failures.shift();
    if (failure?.kind === 'slow') await failure.until;
    if (failure?.kind === 'reset') {
      record(undefined);
      request.socket.destroy();
      return;
    }
    const nowMs = Date.now();
    const { answer, accepted }: Verdict =
      failure?.kind === 'answer'
        ? refuse(failure.status, 999, 'As the test asked', failure.headers)
        : request.method === 'POST'
          ? this.judge(request, body, nowMs)
          : refuse(405, 999);
    if (accepted !== undefined) {
      this.subscriptions.deliver(accepted.channel, accepted.message, nowMs);
    }
    record(answer.status);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  private judge({ headers, url = '' }: IncomingMessage, body: Buffer, nowMs: number): Verdict {
    const { origin } = this;
    const channel = this.channelOf(origin + url);
    if (!url.startsWith(ENDPOINT_PATH) || channel === undefined) return refuse(404, 102);
    if (channel.gone) return refuse(410, 106);
    const header = (name: string) => headers[name]?.toString();
    const push = readPush(header, body, { origin, key: channel.key }, nowMs);
    if (!push.ok) return answerRefused(push);
    const { topic, ttlSeconds } = push;
    const expiresAtMs = nowMs + ttlSeconds * 1000;
    const message: Message = { version: randomUUID(), body, topic, expiresAtMs };
    const location = `${origin}/m/${message.version}`;
    const answer = { status: 201, headers: { location, ttl: String(ttlSeconds) }, body: '' };
    return { answer, accepted: { channel, message } };
  }
}

function refuse(
  status: number,
  errno: number,
  message?: string,
  headers?: Record<string, string>,
): Verdict {
  return answerRefused(refusePush(status, errno, message), headers);
}

function answerRefused(refusal: MessageRefusal, headers: Record<string, string> = {}): Verdict {
  return {
    answer: {
      status: refusal.status,
      headers: { ...refusal.headers, ...headers },
      body: refusal.body,
    },
  };
}
