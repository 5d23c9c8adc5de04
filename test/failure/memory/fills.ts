import { readWebToken } from '../../../src/push/requests/web-subscription.ts';
import { clientFrame, pathOf } from '../../../testing/clients/raw-client.ts';
import { api, signedTarget } from '../../../testing/clients/sign.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { INSTANCE, instanceSettings } from '../../../testing/servers/push-server.ts';
import type { StoredRow } from '../push/delivery-rows.ts';

/** What one app, one instance and strangers hold of the memory of a server: more than it allows, of each kind. */

export const MIB = 1_048_576;
export const LOUD = { key: 'loud-key', secret: 'loud-secret' };

/** The interest of all devices. */
export const ALL = 'all';

/** A server to fill. */
export interface Target {
  readonly server: Fanfare;
  /** The same server for clients that have no TLS. */
  readonly plain: Fanfare;
  readonly hasTls: boolean;
  /** What is open to it. */
  readonly open: DisposableStack;
}

interface Deaf {
  readonly port: number;
  readonly bytes: string | Uint8Array;
  /** Whether it waits for the first bytes of the server. */
  readonly isAnswered?: boolean;
}

/** Opens a connection, sends something, and reads nothing but the first bytes. */
async function openDeaf(
  { hasTls, open }: Target,
  { port, bytes, isAnswered = true }: Deaf,
): Promise<Bun.Socket> {
  const ready = Promise.withResolvers<void>();
  const start = (socket: Bun.Socket) => {
    socket.write(bytes);
    if (!isAnswered) ready.resolve();
  };
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    ...(hasTls && { tls: { rejectUnauthorized: false } }),
    socket: {
      ...(hasTls ? { handshake: start } : { open: start }),
      data(opened) {
        opened.pause();
        ready.resolve();
      },
      close: () => ready.resolve(),
      error: () => ready.resolve(),
    },
  });
  open.defer(() => socket.terminate());
  await ready.promise;
  return socket;
}

/** Does something many times, some at once. */
async function inBatches(count: number, run: (n: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += 100) {
    const batch = Math.min(100, count - from);
    await Promise.all(Array.from({ length: batch }, (_, place) => run(from + place)));
  }
}

const subscriptionTo = (channel: string) =>
  JSON.stringify({ event: 'pusher:subscribe', data: { channel } });

const HANDSHAKE = Buffer.from(
  `GET ${pathOf(7, LOUD.key)} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
);

interface Crowd {
  readonly count: number;
  /** Of each. */
  readonly channels: number;
  /** So many of them hear what is sent to all. */
  readonly deaf: number;
}

/** Opens WebSockets that read nothing. */
export function openWebSockets(target: Target, { count, channels, deaf }: Crowd): Promise<void> {
  return inBatches(count, (place) => {
    const frames = Array.from({ length: channels }, (_, n) => {
      const isHot = n === 0 && place < deaf;
      return clientFrame(1, subscriptionTo(isHot ? 'hot' : `own-channel-${n}-of-${place}`));
    });
    const bytes = Buffer.concat([HANDSHAKE, ...frames]);
    return openDeaf(target, { port: target.server.port, bytes });
  });
}

/** Opens sessions over HTTP with a stream that is not read, half of them; the others poll. All hear what is sent to all. */
export function openSessions(target: Target, count: number): Promise<void> {
  const { server, plain } = target;
  return inBatches(count, async (place) => {
    const session = `/pusher/app/${LOUD.key}/606/session-${place}`;
    const ask = (end: string, number: number) =>
      `POST ${session}/${end}?protocol=7&n=${number} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;
    const isStream = place % 2 === 0;
    const bytes = isStream ? ask('xhr_streaming', 1) : ask('xhr', 1) + ask('xhr', 2);
    await openDeaf(target, { port: server.port, bytes });
    await fetch(`http://127.0.0.1:${plain.port}${session}/xhr_send?n=${isStream ? 2 : 3}`, {
      method: 'POST',
      body: JSON.stringify([subscriptionTo('hot')]),
    });
  });
}

/** Opens connections to the push API that have had an answer and do not complete the next request. */
export function openPushConnections(target: Target, count: number): Promise<void> {
  const padding = `X: ${'x'.repeat(1_000)}\r\n`.repeat(15);
  const bytes = `GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\n${padding}`;
  return inBatches(count, () => openDeaf(target, { port: target.server.pushPort, bytes }));
}

/** Connections to the listeners of clients that send nothing, or not all of a request. */
export function openIdleConnections(target: Target, count: number): Promise<void> {
  const { port, pushPort } = target.server;
  const bytes = `GET /nowhere HTTP/1.1\r\nX: ${'x'.repeat(8_000)}`;
  return inBatches(count, (n) =>
    openDeaf(target, { port: n % 10 === 0 ? pushPort : port, bytes, isAnswered: false }),
  );
}

interface Published {
  readonly channel: (n: number) => string;
  readonly data: string;
  /** Characters of all events. */
  readonly total: number;
}

/** Publishes events in batches. What the server refuses does not matter here. */
export async function publish({ plain }: Target, { channel, data, total }: Published) {
  for (let n = 0; n * data.length < total; ) {
    const batch = Array.from({ length: 10 }, () => ({ name: 'e', channel: channel(n++), data }));
    const body = JSON.stringify({ batch });
    await api(plain, 'POST', '/apps/loud/batch_events', { body, ...LOUD });
  }
}

/** Requests to all listeners that are not finished, and answers that are not read. */
export async function openRequests(target: Target): Promise<void> {
  const { port, pushPort, adminPort, adminPassword } = target.server;
  // The listener of the admin API has no TLS.
  const admin = { ...target, hasTls: false };
  const bearer = `Authorization: Bearer ${INSTANCE.secretKey}\r\n`;
  const basic = `Authorization: Basic ${btoa(`:${adminPassword}`)}\r\n`;
  const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
  /** Most of a body of a megabyte. */
  const post = (path: string, headers = '') =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: 1000000\r\n\r\n${'x'.repeat(900_000)}`;
  const signed = (method: string, path: string) => signedTarget(method, `/apps/loud/${path}`, LOUD);
  const users = `/publish_api/v1/instances/${INSTANCE.id}/publishes/users`;
  await inBatches(40, async () => {
    await openDeaf(target, { port, bytes: get(signed('GET', 'channels/kept-1/history')) });
    const isAnswered = false;
    await openDeaf(target, { port, bytes: post(signed('POST', 'events')), isAnswered });
    await openDeaf(target, { port: pushPort, bytes: post(users, bearer), isAnswered });
    await openDeaf(admin, { port: adminPort, bytes: get('/api/v1/openapi.json', basic) });
  });
  for (const stream of ['apps/loud/stream', `instances/${INSTANCE.id}/stream`, 'log/stream']) {
    for (let n = 0; n < 4; n++) {
      await openDeaf(admin, { port: adminPort, bytes: get(`/api/v1/${stream}`, basic) });
    }
  }
}

/** Sends more frames than can be answered in one turn of the loop. */
export async function flood(target: Target): Promise<void> {
  const message = { event: 'client-x', channel: 'private-x', data: 'я'.repeat(30_000) };
  const frames = Array.from({ length: 20 }, () => clientFrame(1, JSON.stringify(message)));
  for (let n = 0; n < 10; n++) {
    const socket = await openDeaf(target, { port: target.server.port, bytes: HANDSHAKE });
    socket.write(Buffer.concat(frames));
  }
}

/** Rows of browsers whose push service is at a port of this machine. */
export function browsersAt(
  port: number,
  count: number,
  allowedHosts: readonly string[],
): StoredRow[] {
  const keys = { p256dh: instanceSettings().web.vapid.publicKey, auth: 'BTBZMqHH6r4Tts7J_aSIgg' };
  return Array.from({ length: count }, (_, n) => {
    const token = btoa(JSON.stringify({ endpoint: `http://localhost:${port}/${n}`, keys }));
    const read = readWebToken(token, { allowedHosts, allowPrivateAddresses: true });
    if (!('identity' in read)) throw new Error(`The token is refused: ${read.description}`);
    return { platform: 'web', id: `web-${n}`, ...read, bundleId: undefined, isTrusted: true };
  });
}
