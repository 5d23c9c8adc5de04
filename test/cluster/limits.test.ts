import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { type AppClient, TestApp } from '../../testing/servers/test-app.ts';
import { type Cluster, startCluster } from './cluster.ts';

/** The apps of both servers, one for each test. */
const APPS = {
  connections: { limits: { connections: 4 } },
  authorised: { limits: { connections: 1 }, authorizedConnectionsOnly: true },
  messages: { limits: { messagesPerDay: 40 } },
  rate: { limits: { triggersPerSecond: 20 } },
  users: { limits: { connectionsPerUser: 5 } },
  figures: {},
};

let cluster: Cluster;
beforeAll(async () => {
  const moreApps = Object.entries(APPS).map(([name, settings]) => ({
    id: name,
    keys: [{ key: `${name}-key`, secret: 'secret' }],
    ...settings,
  }));
  cluster = await startCluster(2, { threads: 2, moreApps });
}, 180_000);
afterAll(() => cluster[Symbol.asyncDispose]());

/** The app at each server. */
function appsOf(name: keyof typeof APPS): readonly [TestApp, TestApp] {
  const made = { id: name, key: `${name}-key`, secret: 'secret' };
  const [one, two] = cluster.servers.map((server) => new TestApp(server, made));
  return [one as TestApp, two as TestApp];
}

async function refusalAt({ port, key }: TestApp): Promise<number | undefined> {
  await using client = await RawClient.open({ port }, { path: `/app/${key}?protocol=7` });
  expect(await client.receive()).toMatchObject({ event: 'pusher:error' });
  return (await client.closed).code;
}

describe('two servers together', () => {
  it('accept as many connections of an app as it may have', async () => {
    const [one, two] = appsOf('connections');
    const clients = [await one.connect(), await two.connect(), await one.connect()];
    const last = await two.connect();
    for (const app of [one, two, one]) expect(await refusalAt(app)).toBe(4004);
    await last[Symbol.asyncDispose]();
    const again = await eventually(
      async () => await one.connect().catch(() => undefined),
      (client) => client !== undefined,
    );
    expect(await refusalAt(two)).toBe(4004);
    for (const client of [...clients, again]) await client?.[Symbol.asyncDispose]();
  });

  it('count authorised connections once they are authorised, where only these are accepted', async () => {
    const [one, two] = appsOf('authorised');
    await using ann = await one.connect();
    await using bob = await two.connect();
    ann.send(one.signIn(ann, { id: 'ann' }));
    expect(await ann.receive()).toMatchObject({ event: 'pusher:signin_success' });
    await eventually(
      async () => (await figuresAt(0, 'authorised')).connections,
      (connections) => connections === 2,
    );
    bob.send(two.signIn(bob, { id: 'bob' }));
    expect(await bob.closed).toMatchObject({ code: 4004 });
    await ann.receiveNothing();
  });

  it('sign in as many connections of a user as the app allows, however many try at once', async () => {
    const apps = appsOf('users');
    const clients = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (apps[n % 2] as TestApp).connect()),
    );
    const signIn = async (client: AppClient) => {
      client.send(apps[0].signIn(client, { id: 'ann' }));
      return (await client.receive()).event;
    };
    for (let round = 0; round < 5; round++) {
      const events = await Promise.all(clients.map(signIn));
      const signedIn = clients.filter((_, n) => events[n] === 'pusher:signin_success');
      expect(signedIn).toHaveLength(5);
      for (const client of signedIn) {
        clients.splice(clients.indexOf(client), 1);
        await client[Symbol.asyncDispose]();
      }
      await eventually(
        async () => await connectionsOf('users'),
        (connections) => connections === clients.length,
      );
    }
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('accept as many messages of an app as it may have in a day, and about a second more', async () => {
    const apps = appsOf('messages');
    const event = { name: 'e', channel: 'nobody', data: 'x' };
    let accepted = 0;
    for (let n = 0; n < 36; n++) if (await isAccepted(apps, n, event)) accepted++;
    expect(accepted).toBe(36);
    await eventually(
      async () => (await figuresAt(1, 'messages')).messages,
      (messages) => messages === 36,
    );
    // From here on, a server reports at once what it has taken.
    for (let n = 0; n < 30; n++) if (await isAccepted(apps, n, event)) accepted++;
    expect(accepted).toBeGreaterThanOrEqual(40);
    expect(accepted).toBeLessThanOrEqual(46);
    for (const app of apps) expect((await app.post('/events', event)).status).toBe(403);
  });

  it('accept triggers of an app at its rate, together', async () => {
    const apps = appsOf('rate');
    const event = { name: 'e', channel: 'nobody', data: 'x' };
    let accepted = 0;
    const startedAtMs = performance.now();
    let seconds = 0;
    for (let n = 0; seconds < 3; n += 4) {
      const some = [n, n + 1, n + 2, n + 3].map((one) => isAccepted(apps, one, event));
      for (const isTaken of await Promise.all(some)) if (isTaken) accepted++;
      seconds = (performance.now() - startedAtMs) / 1000;
    }
    // The burst of one second, the rate, and a second's worth of tolerance.
    expect(accepted).toBeLessThanOrEqual(20 * (2 + seconds));
    expect(accepted).toBeGreaterThan(20 * seconds * 0.8);
  });

  it('show what an app does on both, and the connections of each', async () => {
    const [one, two] = appsOf('figures');
    await using first = await one.connect();
    await using second = await two.connect();
    await using third = await two.connect();
    await first.subscribe('a');
    await second.subscribe('a');
    await third.subscribe('b');
    await one.trigger({ name: 'e', channel: 'a', data: 'x' });
    for (const server of [0, 1]) {
      // The other server reports what it has within a second.
      await eventually(
        async () => await figuresAt(server, 'figures'),
        (figures) =>
          Bun.deepEquals(figures, { connections: 3, channels: 2, messages: 3, servers: [1, 2] }),
      );
    }
  });

  it('show nothing rather than a part while Redis is away', async () => {
    cluster.redis.signal('SIGSTOP');
    try {
      const { status, text } = await admin(cluster.servers[0] as Fanfare, 'GET', '/live');
      expect([status, text]).toEqual([503, expect.stringContaining('Redis')]);
    } finally {
      cluster.redis.signal('SIGCONT');
    }
  }, 30_000);
});

/** Triggers an event at the servers in turn. */
async function isAccepted(apps: readonly TestApp[], turn: number, event: object): Promise<boolean> {
  const response = await apps[turn % apps.length]?.post('/events', event);
  await response?.text();
  return response?.status === 200;
}

interface Live {
  readonly apps: readonly {
    readonly id: string;
    readonly connections: number;
    readonly channels: number;
    readonly messagesToday: number;
  }[];
  readonly servers: readonly {
    readonly name: string;
    readonly apps: readonly { readonly id: string; readonly connections: number }[];
  }[];
}

/** How many connections an app has, as the last server shows it. */
async function connectionsOf(appId: keyof typeof APPS): Promise<number | undefined> {
  return (await figuresAt(1, appId)).connections;
}

/** The live figures of an app as one server shows them; its connections to each server in ascending order. */
async function figuresAt(server: number, appId: keyof typeof APPS) {
  const { json } = await admin(cluster.servers[server] as Fanfare, 'GET', '/live');
  const { apps, servers } = json as Live;
  const app = apps.find(({ id }) => id === appId);
  return {
    connections: app?.connections,
    channels: app?.channels,
    messages: app?.messagesToday,
    servers: servers
      .flatMap((one) => one.apps)
      .filter(({ id }) => id === appId)
      .map(({ connections }) => connections)
      .toSorted(),
  };
}
