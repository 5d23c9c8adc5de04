import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:tls';
import { ApiClient } from '../../src/doctor/client/api-client.ts';
import { subscribe } from '../../src/doctor/client/client-messages.ts';
import { awaitGreeting, shakeHands } from '../../src/doctor/client/client-session.ts';
import {
  FallbackSession,
  type FallbackTransportName,
} from '../../src/doctor/client/fallback-session.ts';
import type { Ending } from '../../src/doctor/client/inbox.ts';
import type { Destination } from '../../src/doctor/client/link.ts';
import { examine } from '../../src/doctor/examine.ts';
import type { CheckResult } from '../../src/doctor/report.ts';
import { DoctorReport } from '../../src/doctor/report.ts';
import type { RawRequest } from '../../testing/clients/raw-http.ts';
import { RECEIVE_QUERY } from '../../testing/clients/session-requests.ts';
import { Waiting } from '../../testing/clients/waiting.ts';
import { APP } from '../../testing/servers/fanfare.ts';
import type { RunningProxy } from './proxies.ts';

/** Clients of a server behind a proxy with TLS. */

/** The way of the doctor's clients through a proxy. */
function destination({ port, ca }: RunningProxy): Destination {
  const host = `localhost:${port}`;
  const endpoint = { tls: true, hostname: 'localhost', port, prefix: '', host };
  return { endpoint, address: '127.0.0.1', ca };
}

/** How long a client may take for one step. Milliseconds. */
const STEP_MS = 10_000;

/** One client, by whatever transport. */
interface Client extends Disposable {
  readonly ending: Ending | undefined;
}

/** Triggers an event, and fails unless it is accepted. */
export async function publishes(proxy: RunningProxy): Promise<void> {
  const { id: appId, key, secret } = APP;
  const api = new ApiClient({
    to: destination(proxy),
    credentials: { appId, key, secret },
    keyIsKnown: true,
    timeoutMs: STEP_MS,
  });
  const called = await api.trigger({ name: 'headline', channel: 'news', data: '{}' });
  if (!called.ok) throw new Error(called.finding.detail);
}

/** Opens a WebSocket, and fails unless the server greets. */
export async function opensWebSocket(proxy: RunningProxy): Promise<Client> {
  const to = destination(proxy);
  const { conversation, finding } = await shakeHands(to, APP.key, STEP_MS);
  if (conversation === undefined) throw new Error(finding.detail);
  const greeting = await awaitGreeting(conversation, to, STEP_MS);
  if (greeting.established !== undefined) return conversation;
  conversation[Symbol.dispose]();
  throw new Error(greeting.finding.detail);
}

/** Opens a session, subscribes, and fails unless both are answered. */
export async function openSession(
  proxy: RunningProxy,
  transport: FallbackTransportName,
  channel = 'news',
): Promise<Client> {
  const session = FallbackSession.begin(transport, {
    to: destination(proxy),
    key: APP.key,
    timeoutMs: STEP_MS,
  });
  for (const event of ['pusher:connection_established', 'pusher_internal:subscription_succeeded']) {
    const received = await session.receives((message) => message.event === event, STEP_MS);
    if (received.kind !== 'message') {
      session[Symbol.dispose]();
      throw new Error(
        `${transport}: ${JSON.stringify({ event, received, refusal: session.refusal })}`,
      );
    }
    if (event === 'pusher:connection_established') await session.send(subscribe(channel));
  }
  return session;
}

/** Clients that come back as soon as the server lets them go. */
export class Crowd implements Disposable {
  /** Why connections have ended so far. */
  readonly ends: Ending[] = [];
  private members: { client: Client; readonly open: () => Promise<Client> }[] = [];

  static async gather(opens: readonly (() => Promise<Client>)[]): Promise<Crowd> {
    const crowd = new Crowd();
    crowd.members = await Promise.all(opens.map(async (open) => ({ client: await open(), open })));
    return crowd;
  }

  /** Lets those whose connection has ended connect again. */
  async comesBack(): Promise<void> {
    await Promise.all(
      this.members.map(async (member) => {
        const { ending } = member.client;
        if (ending === undefined) return;
        this.ends.push(ending);
        member.client[Symbol.dispose]();
        member.client = await member.open();
      }),
    );
  }

  [Symbol.dispose](): void {
    for (const { client } of this.members) client[Symbol.dispose]();
  }
}

/** The report of the doctor through a proxy. `idleMs`: how long it stays silent; `timeoutMs`: how long a step may take. */
export async function diagnose(
  { port, ca }: RunningProxy,
  { idleMs = 0, timeoutMs = 10_000 }: { readonly idleMs?: number; readonly timeoutMs?: number },
): Promise<readonly CheckResult[]> {
  const report = new DoctorReport(APP.secret, () => undefined);
  await examine(
    {
      url: `https://localhost:${port}`,
      apiUrl: undefined,
      key: APP.key,
      secret: APP.secret,
      appId: APP.id,
      authorization: undefined,
      idleMs,
      manner: { timeoutMs, ca, insecure: false },
    },
    report,
  );
  return report.checks;
}

/** Sends a request to the name that stands for push.example.com. */
export async function requestPush(
  { port, ca }: RunningProxy,
  request: RawRequest,
): Promise<Response> {
  return await fetch(`https://127.0.0.1:${port}${request.target}`, {
    method: request.method,
    headers: { ...request.headers },
    ...(request.body === undefined ? {} : { body: request.body }),
    tls: { ca },
  });
}

/** Sends the head of a request from an address of this machine; returns the first bytes of the answer. */
export function askFrom(
  localAddress: string,
  { port, ca }: RunningProxy,
  head: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, ca, servername: 'localhost' };
    // The types of Bun lack this option.
    const socket = connect({ ...options, ...{ localAddress } });
    socket.once('error', reject);
    socket.once('data', (bytes) => {
      resolve(bytes.toString('latin1'));
      socket.destroy();
    });
    socket.write(`${head}\r\nHost: localhost:${port}\r\n\r\n`);
  });
}

/** Asks by `xhr_streaming` over HTTP/2. */
export function streamOverHttp2({ port, ca }: RunningProxy) {
  const connection = connectHttp2(`https://localhost:${port}`, { ca });
  const waiting = new Waiting();
  let text = '';
  const post = (end: string, body = '') => {
    const headers = {
      ':method': 'POST',
      ':path': `/pusher/app/${APP.key}/606/${session}/${end}?${RECEIVE_QUERY}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    };
    // As browsers do: a request without a body ends with its headers.
    const request = connection.request(headers, { endStream: body === '' });
    if (body !== '') request.end(body);
    return request;
  };
  const session = crypto.randomUUID().slice(0, 8);
  const stream = post('xhr_streaming');
  stream.setEncoding('utf8');
  stream.on('data', (piece: string) => {
    text += piece;
    waiting.wake();
  });
  return {
    send: (...messages: object[]) =>
      void post('xhr_send', JSON.stringify(messages.map((one) => JSON.stringify(one)))),
    /** Waits until the stream contains a text. */
    receive: (part: string) => waiting.until(() => text.includes(part), part),
    [Symbol.dispose]: () => connection.destroy(),
  };
}
