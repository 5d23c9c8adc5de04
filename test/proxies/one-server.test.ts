import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PushRequests } from '../../testing/clients/push-requests.ts';
import { RECEIVE_QUERY } from '../../testing/clients/session-requests.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';
import { openPusherPage, type PusherPage, transports } from './browser.ts';
import {
  askFrom,
  diagnose,
  opensWebSocket,
  publishes,
  requestPush,
  streamOverHttp2,
} from './clients.ts';
import { changed, example } from './examples.ts';
import { type ProxyName, proxyNames, type RunningProxy, startProxy } from './proxies.ts';

/** The examples of docs/operate/deploy.md, unchanged, in front of a server. */

setDefaultTimeout(180_000);

const ADMIN_PASSWORD = 'correct horse';
/** Many proxies cut connections after 60 s of silence. */
const IDLE_MS = 65_000;

const examples: Readonly<Record<ProxyName, string>> = {
  nginx: example('operate/deploy.md', 'nginx', 'listen 443'),
  haproxy: example('operate/deploy.md', 'haproxy', 'bind :443'),
  caddy: example('operate/deploy.md', 'caddyfile', 'ws.example.com'),
};

let server: Fanfare;
let page: PusherPage;
const proxies = new Map<ProxyName, RunningProxy>();

/** The example of a proxy, with the ports of the server. `pushPort`: of what push.example.com stands for. */
function exampleOf(name: ProxyName, pushPort: number): string {
  return changed(examples[name], [
    ['127.0.0.1:6001', `127.0.0.1:${server.port}`],
    ['127.0.0.1:6002', `127.0.0.1:${pushPort}`],
  ]);
}

function proxyOf(name: ProxyName): RunningProxy {
  const proxy = proxies.get(name);
  if (proxy === undefined) throw new Error(`${name} does not run`);
  return proxy;
}

beforeAll(async () => {
  server = await startFanfare({
    config: {
      trustedProxies: ['127.0.0.1/32'],
      push: pushSettings(instanceSettings()),
      admin: { port: 0, password: ADMIN_PASSWORD },
    },
  });
  page = await openPusherPage();
  for (const name of proxyNames) {
    proxies.set(name, await startProxy(name, exampleOf(name, server.pushPort)));
  }
});

afterAll(async () => {
  for (const proxy of proxies.values()) await proxy[Symbol.asyncDispose]();
  await page[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

it('lets the doctor find nothing to fix, also after 65 s of silence', async () => {
  const reports = await Promise.all(
    proxyNames.map((name) => diagnose(proxyOf(name), { idleMs: IDLE_MS })),
  );
  for (const [at, checks] of reports.entries()) {
    const rest = checks.filter(({ result }) => result !== 'ok');
    expect({ proxy: proxyNames[at], rest: rest.map(({ name, detail }) => [name, detail]) }).toEqual(
      {
        proxy: proxyNames[at],
        rest: [
          ...['api-dns', 'api-tcp', 'api-tls'].map((check) => [
            check,
            'the HTTP API has the same address',
          ]),
          ['auth-endpoint', 'it needs --auth-endpoint'],
        ],
      },
    );
  }
});

describe.each(proxyNames)('%s', (name) => {
  it.each(transports)('lets pusher-js in Chromium use %s', async (transport) => {
    const channel = `${name}-${transport}`;
    const options = { proxy: proxyOf(name), transports: [transport], channel };
    // With TLS, too, pusher-js calls it ws.
    expect(await page.subscribe(options)).toBe(transport === 'wss' ? 'ws' : transport);
    await trigger(server, { name: 'headline', channel, data: '"extra"' });
    expect(await page.receive(channel)).toBe('extra');
  });

  it('passes streams on at once over HTTP/2', async () => {
    const channel = `http2-${name}`;
    using stream = streamOverHttp2(proxyOf(name));
    await stream.receive('pusher:connection_established');
    stream.send({ event: 'pusher:subscribe', data: { channel } });
    await stream.receive('subscription_succeeded');
    await trigger(server, { name: 'headline', channel, data: 'extra' });
    await stream.receive('headline');
  });

  it('passes the address of the client to the server, whatever the client sends', async () => {
    const proxy = proxyOf(name);
    const asked: readonly (readonly [string, string])[] = [
      ['127.0.0.21', `GET /nowhere HTTP/1.1`],
      [
        '127.0.0.22',
        `POST /pusher/app/unknown/1/${name}/xhr_streaming?${RECEIVE_QUERY} HTTP/1.1\r\nContent-Length: 0`,
      ],
      [
        '127.0.0.23',
        `GET /app/unknown?protocol=7 HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==`,
      ],
    ];
    for (const [from, head] of asked) {
      const logged = server.logsNext(new RegExp(`"address":"${from}"`));
      await askFrom(from, proxy, `${head}\r\nX-Forwarded-For: 203.0.113.9`);
      expect(await logged).not.toContain('203.0.113.9');
    }
  });

  it('passes devices, their interests and publishes on', async () => {
    const proxy = proxyOf(name);
    const requests = new PushRequests();
    const registered = await requestPush(proxy, requests.registerWeb(`at-${name}`));
    expect(registered.status).toBe(200);
    const { id } = (await registered.json()) as { id: string };
    // The longest list that a device may have: 815 kB.
    const interests = Array.from({ length: 5000 }, (_, n) => `${n}-`.padEnd(160, 'x'));
    expect((await requestPush(proxy, requests.setInterests(id, interests))).status).toBe(200);
    const publish = { interests: ['nobody'], web: { notification: { title: 'Hello' } } };
    expect((await requestPush(proxy, requests.publish(publish))).status).toBe(200);
  });

  it('passes the admin API on if it stands in for push', async () => {
    await using proxy = await startProxy(name, exampleOf(name, server.adminPort));
    const listed = await requestPush(proxy, { method: 'GET', target: '/api/v1/apps' });
    expect(listed.status).toBe(401);
    const headers = { authorization: `Bearer ${ADMIN_PASSWORD}` };
    const answer = await requestPush(proxy, { method: 'GET', target: '/api/v1/apps', headers });
    expect([answer.status, (await answer.text()).includes('"apps"')]).toEqual([200, true]);
    // Nobody but programs on this machine: a proxy is none.
    expect((await requestPush(proxy, { method: 'GET', target: '/metrics' })).status).toBe(401);
  });
});

it('is reached by nginx on Unix sockets, which passes the address of the client on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-sockets-'));
  using _folder = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
  await using onSockets = await startFanfare({
    onlyOne: 'log',
    threads: 1,
    channels: { host: `unix:${folder}/channels.sock` },
    config: {
      push: { ...pushSettings(instanceSettings()), host: `unix:${folder}/push.sock` },
    },
  });
  const inPlaceOf = changed(examples.nginx, [
    ['http://127.0.0.1:6001', `http://unix:${folder}/channels.sock`],
    ['http://127.0.0.1:6002', `http://unix:${folder}/push.sock`],
  ]);
  await using proxy = await startProxy('nginx', inPlaceOf);
  await publishes(proxy);
  using _client = await opensWebSocket(proxy);
  const publish = { interests: ['nobody'], web: { notification: { title: 'Hello' } } };
  expect((await requestPush(proxy, new PushRequests().publish(publish))).status).toBe(200);
  const logged = onSockets.logsNext(/"address":"127.0.0.31"/);
  await askFrom('127.0.0.31', proxy, 'GET /nowhere HTTP/1.1\r\nX-Forwarded-For: 203.0.113.9');
  expect(await logged).not.toContain('203.0.113.9');
});

describe('nginx that ignores X-Accel-Buffering', () => {
  const ignoring = (...more: readonly (readonly [string, string])[]) =>
    startProxy(
      'nginx',
      changed(exampleOf('nginx', server.pushPort), [
        ['proxy_read_timeout', 'proxy_ignore_headers X-Accel-Buffering; proxy_read_timeout'],
        ...more,
      ]),
    );
  const both = ['xhr_streaming', 'xhr_polling'] as const;

  it('holds streams back over HTTP/1.1, so that pusher-js polls', async () => {
    await using proxy = await ignoring(['ssl http2', 'ssl']);
    const checks = await diagnose(proxy, { timeoutMs: 2_000 });
    const unwell = checks.filter(({ result }) => result !== 'ok' && result !== 'not checked');
    expect(unwell).toMatchObject([
      {
        name: 'xhr-streaming',
        detail: expect.stringContaining('it arrives when the answer ends'),
        advice: expect.stringMatching(/nginx: .*X-Accel-Buffering/),
      },
    ]);
    const options = { proxy, transports: both, channel: 'held-back' };
    expect(await page.subscribe(options)).toBe('xhr_polling');
  });

  it('does not hold them back over HTTP/2', async () => {
    await using proxy = await ignoring();
    const options = { proxy, transports: ['xhr_streaming'] as const, channel: 'not-held-back' };
    expect(await page.subscribe(options)).toBe('xhr_streaming');
  });
});
