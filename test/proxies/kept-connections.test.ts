import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { signedTarget } from '../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { changed, example } from './examples.ts';
import { type RunningProxy, startProxy } from './proxies.ts';

/** Proxies that keep connections to a server, over a link that takes its time, and let them go after a second. */

setDefaultTimeout(180_000);

const LINK_MS = 40;
const KEPT_MS = 1_000;
/** How much earlier or later than the end of the connections a request comes. Milliseconds. */
const OFFSETS_MS = [-120, -80, -60, -40, -20, 0, 20, 40, 80];
/** Caddy keeps 32 connections to a server. */
const AT_ONCE = 30;

let server: Fanfare;
let link: { readonly port: number; readonly close: () => void };

beforeAll(async () => {
  // The shortest time above that of the proxies that the runtime can measure.
  server = await startFanfare({ channels: { httpIdleSeconds: 4 } });
  link = await openLink(server.port);
});

afterAll(async () => {
  link.close();
  await server[Symbol.asyncDispose]();
});

/** A port that leads to another one, with a delay in both directions. */
async function openLink(port: number) {
  const sockets = new Set<Socket>();
  const passOn = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (bytes) => setTimeout(() => to.write(bytes), LINK_MS));
    from.on('end', () => setTimeout(() => to.end(), LINK_MS));
    from.on('error', () => to.destroy());
    from.on('close', () => sockets.delete(from));
  };
  const listener: Server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    passOn(near, far);
    passOn(far, near);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  listener.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('It has no port');
  return {
    port: address.port,
    close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const body = JSON.stringify({ name: 'e', channel: 'news', data: '{}' });

/** Triggers at once, one on each connection. Returns the statuses. */
function volley({ port, ca }: RunningProxy): Promise<number[]> {
  const target = signedTarget('POST', `/apps/${APP.id}/events`, { body });
  return Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      const response = await fetch(`https://localhost:${port}${target}`, {
        method: 'POST',
        body,
        tls: { ca },
      });
      await response.arrayBuffer();
      return response.status;
    }),
  );
}

const nginx = () =>
  changed(example('operate/deploy.md', 'nginx', 'listen 443'), [
    ['http://127.0.0.1:6001', 'http://kept'],
  ]).concat(
    `upstream kept { server 127.0.0.1:${link.port}; keepalive 64; keepalive_timeout ${KEPT_MS}ms; }\n`,
  );

const caddy = () =>
  changed(example('operate/deploy.md', 'caddyfile', 'ws.example.com'), [
    [
      'reverse_proxy 127.0.0.1:6001',
      `reverse_proxy 127.0.0.1:${link.port} {\n transport http {\n keepalive ${KEPT_MS}ms\n }\n }`,
    ],
  ]);

describe.each([
  ['nginx', nginx],
  ['caddy', caddy],
] as const)('%s', (name, config) => {
  it.concurrent('loses no request at the moment when it lets its connections go', async () => {
    await using proxy = await startProxy(name, config());
    const statuses = await volley(proxy);
    for (const offsetMs of OFFSETS_MS) {
      await Bun.sleep(KEPT_MS + offsetMs);
      statuses.push(...(await volley(proxy)));
    }
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });
});
