/**
 * The least that could work: a bare Bun program that verifies a signature, publishes to a native
 * topic and keeps nothing. What Fanfare is measured against, so nothing here may be cleverer than
 * the obvious use of Bun.
 *
 *     sh scripts/bun.sh bench/floor.ts PORT
 */
import { timingSafeEqual } from 'node:crypto';
import type { Server } from 'bun';
import { benchApp } from './bench-app.ts';

const established = JSON.stringify({
  event: 'pusher:connection_established',
  data: JSON.stringify({ socket_id: '1.2', activity_timeout: 120 }),
});

interface Trigger {
  readonly name: string;
  readonly channel?: string;
  readonly channels?: readonly string[];
  readonly data: string;
}

const paths = new Set([`/apps/${benchApp.id}/events`, `/apps/${benchApp.id}/batch_events`]);

/** Returns whether a request to the HTTP API was signed with the app's secret, body included. */
function isSigned(path: string, query: string, body: string): boolean {
  const params = query.split('&').sort();
  const given = params.find((param) => param.startsWith('auth_signature='))?.slice(15) ?? '';
  const signed = params.filter((param) => !param.startsWith('auth_signature='));
  if (!signed.includes(`body_md5=${Bun.MD5.hash(body, 'hex')}`)) return false;

  const expected = new Bun.CryptoHasher('sha256', benchApp.secret)
    .update(`POST\n${path}\n${signed.join('&')}`)
    .digest('hex');
  return (
    given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
  );
}

async function trigger(
  server: Server<undefined>,
  path: string,
  query: string,
  request: Request,
): Promise<Response> {
  const body = await request.text();
  if (!isSigned(path, query, body)) return new Response('not signed', { status: 401 });

  const read: Trigger | { readonly batch: readonly Trigger[] } = JSON.parse(body);
  for (const event of 'batch' in read ? read.batch : [read]) publish(server, event);
  return new Response('{}', { headers: { 'content-type': 'application/json' } });
}

function publish(server: Server<undefined>, event: Trigger): void {
  const name = JSON.stringify(event.name);
  const data = JSON.stringify(event.data);
  for (const channel of event.channels ?? [event.channel ?? '']) {
    const frame = `{"event":${name},"channel":${JSON.stringify(channel)},"data":${data}}`;
    server.publish(channel, frame);
  }
}

Bun.serve<undefined>({
  hostname: '127.0.0.1',
  port: Number(process.argv[2] ?? 7001),
  idleTimeout: 120,
  fetch(request, server) {
    const pathStart = request.url.indexOf('/', 'http://'.length);
    const queryStart = request.url.indexOf('?', pathStart);
    const path = request.url.slice(pathStart, queryStart < 0 ? undefined : queryStart);
    const query = queryStart < 0 ? '' : request.url.slice(queryStart + 1);

    if (request.method === 'POST' && paths.has(path)) {
      return trigger(server, path, query, request);
    }
    if (path.startsWith('/app/') && server.upgrade(request)) return undefined;
    return new Response('not found', { status: 404 });
  },
  websocket: {
    open(connection) {
      connection.send(established);
    },
    message(connection, text) {
      const message = JSON.parse(String(text));
      if (String(message.event).startsWith('client-')) {
        const { event, channel, data } = message;
        connection.publish(String(channel), JSON.stringify({ event, channel, data }));
        return;
      }
      if (message.event !== 'pusher:subscribe') return;
      const channel = String(message.data.channel);
      connection.subscribe(channel);
      connection.send(
        `{"event":"pusher_internal:subscription_succeeded","channel":${JSON.stringify(channel)},"data":"{}"}`,
      );
    },
  },
});
