import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServerWebSocket } from 'bun';
import {
  type PushRefusal,
  readPush,
  refusalText,
  refusePush,
} from '../../src/fake-gateways/web/push-message.ts';
import { Inbox } from '../inbox.ts';
import {
  type Channel,
  type Message,
  PushSubscriptions,
  type UserAgent,
} from './push-subscriptions.ts';

/**
 * A push service such as Mozilla runs for Firefox, on 127.0.0.1: browsers connect by WebSocket and get endpoints,
 * and what is posted to an endpoint goes to its browser, or waits for it.
 */
export interface Autopush extends AsyncDisposable {
  /** Where browsers connect: the setting `dom.push.serverURL`. */
  readonly url: string;
  /** The origin of all endpoints. */
  readonly origin: string;
  /** What was posted, in the order in which it was answered. */
  readonly pushed: Inbox<PushedMessage>;
  /** The acknowledgements of browsers. */
  readonly acknowledged: Inbox<Acknowledgement>;
  /** Settles when a browser has said hello, once for each time that it does; returns its id. */
  waitForHello(): Promise<string>;
  /** Ends the connections of all browsers, which come back by themselves; what is pushed meanwhile waits. */
  disconnect(): void;
  /** Makes an endpoint that no browser listens to. `key`: what it is subscribed with, URL-safe base64. */
  newEndpoint(key: string): string;
  /** Makes an endpoint answer 410 from now on, as after the browser has unsubscribed. */
  remove(endpoint: string): void;
  /** What happens to the next posts, one each, instead of an answer. */
  failNext(...failures: readonly PushFailure[]): void;
  /** The statuses with which the next registrations are refused. */
  refuseNextRegistrations(...statuses: readonly number[]): void;
}

export interface PushedMessage {
  readonly endpoint: string;
  readonly headers: IncomingMessage['headers'];
  /** Encrypted. */
  readonly body: Buffer;
  /** The status of the answer; `undefined`: the connection was reset. */
  readonly status: number | undefined;
}

export interface Acknowledgement {
  readonly type: 'ack' | 'nack';
  /** The message, as the `Location` of its answer ends. */
  readonly version: string;
  /** 100: given to the worker; 101: could not be decrypted; 102: not given to it; 301 to 303: the worker failed. */
  readonly code: number;
}

export type PushFailure =
  | { readonly kind: 'answer'; readonly status: number; readonly headers?: Record<string, string> }
  /** The connection ends without an answer. */
  | { readonly kind: 'reset' }
  /** It is answered when this settles. */
  | { readonly kind: 'slow'; readonly until: Promise<unknown> };

interface SocketData {
  /** Once it has said hello. */
  agent: UserAgent | undefined;
  /** What its agent sends with. */
  send: ((message: object) => void) | undefined;
}

type Socket = ServerWebSocket<SocketData>;

/** A message of a browser; the fields depend on the type. */
interface FromBrowser {
  readonly messageType?: string;
  readonly uaid?: string;
  readonly channelID?: string;
  readonly key?: string;
  readonly updates?: readonly { readonly version: string; readonly code: number }[];
  readonly version?: string;
  readonly code?: number;
}

const SUBPROTOCOL = 'push-notification';
const ENDPOINT_PATH = '/wpush/v2/';

/** Sources: push protocol, 9.2; the errnos are in autopush-rs, "Error Codes". */
export async function startAutopush(): Promise<Autopush> {
  const pushed = new Inbox<PushedMessage>('The push service');
  const acknowledged = new Inbox<Acknowledgement>('The push service');
  const hellos = new Inbox<string>('The push service');
  const subscriptions = new PushSubscriptions();
  const connected = new Set<Socket>();
  const failures: PushFailure[] = [];
  const registrationRefusals: number[] = [];

  const http = createServer((request, response) => {
    receive(request, response).catch((error: unknown) => {
      pushed.fail(error instanceof Error ? error : new Error(String(error)));
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  const origin = `http://localhost:${(http.address() as AddressInfo).port}`;

  function hear(socket: Socket, said: FromBrowser): void {
    const answer = (message: object) => void socket.send(JSON.stringify(message));
    const { messageType, channelID = '', version = '' } = said;
    if (messageType === undefined) return answer({}); // A ping.
    if (messageType === 'hello') {
      const agent = subscriptions.greet(said.uaid, answer, Date.now());
      Object.assign(socket.data, { agent, send: answer });
      return hellos.put(agent.uaid);
    }
    const { agent } = socket.data;
    if (agent === undefined) return socket.close(1002, 'Say hello first');
    switch (messageType) {
      case 'ping':
        return answer({ messageType });
      case 'register': {
        const refused = registrationRefusals.shift();
        if (refused !== undefined) return answer({ messageType, channelID, status: refused });
        const { token } = subscriptions.subscribe(said.key ?? '', channelID, agent);
        const pushEndpoint = origin + ENDPOINT_PATH + token;
        return answer({ messageType, channelID, status: 200, pushEndpoint });
      }
      case 'unregister':
        subscriptions.unsubscribe(agent, channelID);
        return answer({ messageType, channelID, status: 200 });
      case 'ack':
        for (const update of said.updates ?? []) {
          subscriptions.acknowledge(update.version);
          acknowledged.put({ type: 'ack', version: update.version, code: update.code });
        }
        return;
      case 'nack':
        subscriptions.acknowledge(version);
        return acknowledged.put({ type: 'nack', version, code: said.code ?? 0 });
      default:
        // Nothing is ever broadcast, so subscribing to broadcasts needs no answer.
        return;
    }
  }

  /** The answer to a post, with the message if it is accepted. */
  function judge(
    headers: IncomingMessage['headers'],
    path: string,
    body: Buffer,
    nowMs: number,
  ): Verdict {
    const channel = subscriptions.byToken(path.slice(ENDPOINT_PATH.length));
    if (!path.startsWith(ENDPOINT_PATH) || channel === undefined) return refuse(404, 102);
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

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const { headers, url: path = '' } = request;
    const record = (status: number | undefined) =>
      pushed.put({ endpoint: origin + path, headers, body, status });

    const failure = failures.shift();
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
          ? judge(headers, path, body, nowMs)
          : refuse(405, 999);
    if (accepted !== undefined) {
      subscriptions.deliver(accepted.channel, accepted.message, nowMs);
    }
    record(answer.status);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  const sockets = Bun.serve<SocketData, string>({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, server) {
      const upgraded = server.upgrade(request, {
        headers: { 'sec-websocket-protocol': SUBPROTOCOL },
        data: { agent: undefined, send: undefined },
      });
      return upgraded ? undefined : new Response('A WebSocket is needed', { status: 426 });
    },
    websocket: {
      idleTimeout: 0,
      message: (socket, text) => hear(socket, JSON.parse(String(text))),
      open: (socket) => void connected.add(socket),
      close(socket) {
        connected.delete(socket);
        const { agent, send } = socket.data;
        // It may be back already, by another connection.
        if (agent !== undefined && agent.send === send) agent.send = undefined;
      },
    },
  });

  return {
    url: `ws://localhost:${sockets.port}/`,
    origin,
    pushed,
    acknowledged,
    waitForHello: () => hellos.next(),
    disconnect() {
      for (const socket of connected) socket.close(1001);
    },
    newEndpoint: (key) => origin + ENDPOINT_PATH + subscriptions.subscribe(key, randomUUID()).token,
    remove(endpoint) {
      const channel = subscriptions.byToken(endpoint.slice((origin + ENDPOINT_PATH).length));
      if (channel === undefined) throw new Error(`There is no endpoint ${endpoint}`);
      channel.gone = true;
    },
    failNext: (...more) => void failures.push(...more),
    refuseNextRegistrations: (...statuses) => void registrationRefusals.push(...statuses),
    async [Symbol.asyncDispose]() {
      await sockets.stop(true);
      http.closeAllConnections();
      await new Promise((resolve) => {
        http.close(resolve);
      });
    },
  };
}

interface Verdict {
  readonly answer: {
    readonly status: number;
    readonly headers: Record<string, string>;
    readonly body: string;
  };
  readonly accepted?: { readonly channel: Channel; readonly message: Message };
}

function refuse(
  status: number,
  errno: number,
  message?: string,
  headers?: Record<string, string>,
): Verdict {
  return answerRefused(refusePush(status, errno, message), headers);
}

function answerRefused(refusal: PushRefusal, headers: Record<string, string> = {}): Verdict {
  return {
    answer: {
      status: refusal.status,
      headers: { 'content-type': 'application/json', ...headers },
      body: refusalText(refusal),
    },
  };
}
