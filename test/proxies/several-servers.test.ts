import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FallbackTransportName } from '../../src/doctor/client/fallback-session.ts';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { type Fanfare, type FanfareOptions, startFanfare } from '../../testing/servers/fanfare.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { startRedis } from '../../testing/servers/redis.ts';
import { Crowd, openSession, opensWebSocket, publishes } from './clients.ts';
import { changed, example } from './examples.ts';
import { type ProxyName, proxyNames, type RunningProxy, startProxy } from './proxies.ts';

/** The examples of docs/operate/scale.md, unchanged, in front of two servers and one that is not there. */

setDefaultTimeout(180_000);

type Changes = readonly (readonly [string, string])[];

const one = {
  nginx: example('operate/deploy.md', 'nginx', 'listen 443'),
  haproxy: example('operate/deploy.md', 'haproxy', 'bind :443'),
} as const;

/** How each example is put together, as the page says. */
const examples: Readonly<Record<ProxyName, string>> = {
  nginx: `${example('operate/scale.md', 'nginx', 'upstream fanfare')}${changed(one.nginx, [
    ['http://127.0.0.1:6001', 'http://fanfare'],
  ])}`,
  haproxy: changed(one.haproxy, [
    [
      'backend channels\n  server one 127.0.0.1:6001\n',
      example('operate/scale.md', 'haproxy', 'leastconn'),
    ],
  ]),
  caddy: `${example('operate/scale.md', 'caddyfile', 'lb_policy')}push.example.com {\n  respond 404\n}\n`,
};

const [nginxLocation = ''] = /^ {2}location \/ \{[^}]*\}\n/m.exec(one.nginx) ?? [];

/** Those that choose the server by the path of a session. */
const withHash = {
  nginx: `${example('operate/scale.md', 'nginx', 'upstream sessions')}${changed(examples.nginx, [
    [
      '  location / {\n    proxy_pass http://fanfare;',
      `${nginxLocation
        .replace('location /', 'location /pusher/app/')
        .replace(
          'http://127.0.0.1:6001',
          'http://sessions',
        )}  location / {\n    proxy_pass http://fanfare;`,
    ],
  ])}`,
  haproxy: `${changed(examples.haproxy, [
    [
      '  default_backend channels',
      '  use_backend sessions if { path_beg /pusher/app/ }\n  default_backend channels',
    ],
  ])}\n${example('operate/scale.md', 'haproxy', 'backend sessions')}`,
} as const;

/** In this time, the health checks of the examples notice a server that is back. Milliseconds. */
const HEALTH_CHECKED_MS = 3_000;

/** The ports that all servers have, each on an address of its own. */
let ports: { readonly channels: number; readonly push: number; readonly admin: number };

const hostOf = (server: number) => `127.0.77.${server}`;

async function startServer(server: number, config: object): Promise<Fanfare> {
  const host = hostOf(server);
  const options: FanfareOptions = {
    channels: { host, port: ports.channels },
    config: {
      trustedProxies: ['127.0.0.1/32'],
      drainSeconds: 6,
      push: { host, port: ports.push, instances: [] },
      admin: { host, port: ports.admin, password: 'correct horse' },
      ...config,
    },
  };
  return await startFanfare(options);
}

async function startBalancer(name: ProxyName, text: string): Promise<RunningProxy> {
  const all: Changes = [
    ['10.0.0.1:6001', `${hostOf(1)}:${ports.channels}`],
    ['10.0.0.2:6001', `${hostOf(2)}:${ports.channels}`],
    // Nothing listens there.
    ['10.0.0.3:6001', `${hostOf(3)}:${ports.channels}`],
    ...(name === 'haproxy' ? ([['port 6003', `port ${ports.admin}`]] as const) : []),
    ...(name === 'caddy' ? ([['health_port 6003', `health_port ${ports.admin}`]] as const) : []),
  ];
  return await startProxy(name, changed(text, all));
}

/** Chooses other ones: a server that did not start in time may still have the last. */
async function changePorts(): Promise<void> {
  ports = { channels: await freePort(), push: await freePort(), admin: await freePort() };
}

/** Opens a session as pusher-js does, which comes back if a server that stops refuses it. */
async function opensSession(proxy: RunningProxy, transport: FallbackTransportName) {
  for (;;) {
    try {
      return await openSession(proxy, transport, 'quiet');
    } catch (error) {
      if (!String(error).includes('"code":4100')) throw error;
    }
  }
}

describe.each(proxyNames)('%s in front of two servers over Redis', (name) => {
  const parts = new AsyncDisposableStack();
  const servers = new Map<number, Fanfare>();
  let config: object;
  let proxy: RunningProxy;

  beforeAll(async () => {
    await changePorts();
    const redis = parts.use(await startRedis());
    const store = parts.use(await throwAwayPostgres());
    config = {
      engine: { type: 'redis', url: redis.url },
      store: { url: store.url },
      // As long as health checks need.
      stopDelaySeconds: name === 'nginx' ? 0 : 5,
    };
    for (const number of [1, 2]) servers.set(number, await startServer(number, config));
    parts.defer(async () => {
      for (const server of servers.values()) await server[Symbol.asyncDispose]();
    });
    proxy = parts.use(await startBalancer(name, examples[name]));
    // Its health checks find out within 4 s; nginx has none.
    if (name === 'haproxy') await proxy.logs('channels/three is DOWN');
  }, 120_000);

  afterAll(() => parts.disposeAsync());

  it('loses no trigger and refuses no client while one server after the other is restarted', async () => {
    const ways = [
      () => opensWebSocket(proxy),
      () => opensSession(proxy, 'xhr_streaming'),
      // Nothing is sent to it, so that its polls stay where they are, at its own server or at the other.
      () => opensSession(proxy, 'xhr_polling'),
    ];
    using crowd = await Crowd.gather(ways.flatMap((way) => Array.from({ length: 8 }, () => way)));
    const refused: string[] = [];
    const refuses = (what: string) => (error: Error) =>
      void refused.push(`${what}: ${error.message}`);
    let isOver = false;
    let triggers = 0;
    const repeat = async (step: () => Promise<unknown>) => {
      while (!isOver) {
        await step();
        // Nothing to do may take no turn of the loop.
        await nextTurn();
      }
    };
    const load = [
      ...Array.from({ length: 4 }, () =>
        repeat(async () => {
          triggers++;
          await publishes(proxy).catch(refuses('trigger'));
        }),
      ),
      repeat(() => crowd.comesBack().catch(refuses('coming back'))),
      ...ways.map((way) =>
        repeat(() => way().then((client) => client[Symbol.dispose](), refuses(`${way}`))),
      ),
    ];
    try {
      for (const [number, server] of servers) {
        expect(await server.stop()).toBe(0);
        // It prints its addresses when `/readyz` answers 200.
        servers.set(number, await startServer(number, config));
        if (name !== 'nginx') await Bun.sleep(HEALTH_CHECKED_MS);
      }
    } finally {
      isOver = true;
    }
    await Promise.all(load);
    expect(triggers).toBeGreaterThan(50);
    // Every client was at a server that stopped.
    expect(crowd.ends.length).toBeGreaterThanOrEqual(8);
    const others = crowd.ends.filter(({ code }) => code !== 4200);
    expect({ refused, others }).toEqual({ refused: [], others: [] });
  });
});

describe.each(['nginx', 'haproxy'] as const)('%s that hashes the path of sessions', (name) => {
  it('brings all requests of a session to one server', async () => {
    // They do not know of each other, so that a session is open on one of them only.
    await using parts = new AsyncDisposableStack();
    await changePorts();
    for (const server of [1, 2]) parts.use(await startServer(server, {}));
    const proxy = parts.use(await startBalancer(name, withHash[name]));
    for (const transport of ['xhr_streaming', 'xhr_polling'] as const) {
      const opened = Array.from({ length: 12 }, () => openSession(proxy, transport));
      for (const client of await Promise.all(opened)) {
        expect(client.ending).toBeUndefined();
        client[Symbol.dispose]();
      }
    }
  });
});
