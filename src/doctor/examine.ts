import { randomBytes } from 'node:crypto';
import { checkLargeBody, checkLargeHeader, judgeChannels } from './checks/call-checks.ts';
import {
  checkClose,
  checkIdle,
  checkPusherPing,
  checkSecondConnection,
  checkSubscription,
  checkWebSocketPing,
  judgeActivityTimeout,
} from './checks/connection-checks.ts';
import { checkDelivery } from './checks/delivery-checks.ts';
import { checkHttp } from './checks/http-checks.ts';
import { ApiClient } from './client/api-client.ts';
import { awaitGreeting, type ClientSession, shakeHands } from './client/client-session.ts';
import type { Destination } from './client/link.ts';
import { type Manner, reach } from './client/reach.ts';
import { channelAuth } from './client/signed-request.ts';
import { failed, notChecked, ok } from './finding.ts';
import type { Report } from './report.ts';
import { addressOf, parseTarget, sameEndpoint } from './target.ts';

/** What is to be examined, and with what. */
export interface Subject {
  readonly url: string;
  readonly apiUrl: string | undefined;
  readonly key: string;
  readonly secret: string | undefined;
  readonly appId: string | undefined;
  /** How long to stay silent; 0 leaves that check out. */
  readonly idleMs: number;
  readonly manner: Manner;
}

/** Checks everything in the order in which it can go wrong, and tells the report. */
export async function examine(subject: Subject, report: Report): Promise<void> {
  await examineAll(subject, report);
  report.finish();
}

async function examineAll(subject: Subject, report: Report): Promise<void> {
  const parsed = parseTarget(subject.url, subject.apiUrl);
  if (!parsed.ok) {
    report.add('url', failed(parsed.detail, parsed.advice));
    return;
  }
  const { websocket, api } = parsed.target;
  const together = sameEndpoint(websocket, api);
  report.add(
    'url',
    ok(together ? addressOf(api) : `${addressOf(websocket)} and, for backends, ${addressOf(api)}`),
  );

  const { manner } = subject;
  const clientWay = await reach(websocket, { dns: 'dns', tcp: 'tcp', tls: 'tls' }, manner, report);
  if (together) {
    report.skip(['api-dns', 'api-tcp', 'api-tls'], 'the HTTP API has the same address');
  }
  const apiWay = together
    ? clientWay
    : await reach(api, { dns: 'api-dns', tcp: 'api-tcp', tls: 'api-tls' }, manner, report);

  if (apiWay !== undefined) {
    const goOn = await checkHttp(apiWay, subject.appId ?? '0', manner.timeoutMs, report);
    if (!goOn && together) return;
  }
  using connections = new DisposableStack();
  const first =
    clientWay === undefined ? undefined : await connect(clientWay, subject, report, connections);
  const second =
    clientWay === undefined || first === undefined
      ? undefined
      : await connectAgain(clientWay, subject, first, report, connections);

  const channel = `fanfare-doctor-${randomBytes(8).toString('hex')}`;
  const subscribed =
    first === undefined ? undefined : await subscribe(first, channel, subject, report);
  if (apiWay !== undefined) {
    const listeners = { channel, first: subscribed, second };
    await examineApi(apiWay, subject, first !== undefined, listeners, report);
  }
  if (first === undefined) return;
  report.add(
    'idle',
    subject.idleMs > 0
      ? await checkIdle(first, subject.idleMs, manner.timeoutMs)
      : notChecked('--idle is 0'),
  );
  report.add('close', await checkClose(first.conversation, manner.timeoutMs));
}

/** The handshake, the greeting, and pings of both kinds. */
async function connect(
  way: Destination,
  { key, manner: { timeoutMs } }: Subject,
  report: Report,
  connections: DisposableStack,
): Promise<ClientSession | undefined> {
  const { finding, conversation } = await shakeHands(way, key, timeoutMs);
  report.add('websocket', finding);
  if (conversation === undefined) return undefined;
  connections.use(conversation);

  const greeting = await awaitGreeting(conversation, way, timeoutMs);
  report.add('first-message', greeting.finding);
  const { established } = greeting;
  if (established === undefined) return undefined;
  report.add('activity-timeout', judgeActivityTimeout(established.activityTimeoutSeconds));
  report.add('pusher-ping', await checkPusherPing(conversation, timeoutMs));
  report.add('websocket-ping', await checkWebSocketPing(conversation, timeoutMs));
  return { conversation, established };
}

async function connectAgain(
  way: Destination,
  { key, manner }: Subject,
  first: ClientSession,
  report: Report,
  connections: DisposableStack,
): Promise<ClientSession | undefined> {
  const again = await checkSecondConnection(way, key, first, manner.timeoutMs);
  if (again.session !== undefined) connections.use(again.session.conversation);
  report.add('second-connection', again.finding);
  return again.session;
}

/** Subscribes to a public and, with a secret, to a private channel; gives who is subscribed to the first. */
async function subscribe(
  session: ClientSession,
  channel: string,
  { key, secret, manner: { timeoutMs } }: Subject,
  report: Report,
): Promise<ClientSession | undefined> {
  const { conversation, established } = session;
  const open = await checkSubscription(conversation, channel, timeoutMs);
  const result = report.add('public-channel', open);
  if (secret === undefined) {
    report.add('private-channel', notChecked('it needs --secret'));
  } else {
    const name = `private-${channel}`;
    const auth = channelAuth(key, secret, established.socketId, name);
    report.add('private-channel', await checkSubscription(conversation, name, timeoutMs, auth));
  }
  return result === 'ok' ? session : undefined;
}

/** Everything that a backend does. */
async function examineApi(
  way: Destination,
  { key, secret, appId, manner: { timeoutMs } }: Subject,
  keyIsKnown: boolean,
  listeners: Parameters<typeof checkDelivery>[1],
  report: Report,
): Promise<void> {
  const calls = [
    'signed-request',
    'trigger',
    'delivery',
    'unchanged-data',
    'excluded-connection',
    'large-header',
    'large-body',
  ] as const;
  if (secret === undefined || appId === undefined) {
    return report.skip(calls, 'it needs --secret and --app-id');
  }
  const api = new ApiClient(way, { appId, key, secret }, keyIsKnown, timeoutMs);
  const result = report.add('signed-request', judgeChannels(await api.channels()));
  if (result === 'failed') return report.skip(calls, 'because "signed-request" failed');
  await checkDelivery(api, listeners, timeoutMs, report);
  report.add('large-header', await checkLargeHeader(api));
  report.add('large-body', await checkLargeBody(api, `${listeners.channel}-large`));
}
