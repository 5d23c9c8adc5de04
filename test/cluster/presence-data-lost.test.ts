import { expect, it } from 'bun:test';
import { RedisClient } from 'bun';
import { eventually } from '../../testing/eventually.ts';
import type { AppClient, TestApp } from '../../testing/servers/test-app.ts';
import { startCluster } from './cluster.ts';

const LARGE = 'presence-large';
const STAYING = 'presence-staying';
/** Longer than the test takes. */
const GRACE_SECONDS = 120;

/** Enters a channel, among whose counts the confirmation comes. */
async function subscribe(app: TestApp, client: AppClient, channel: string, user: string) {
  const auth = app.auth(client, channel, JSON.stringify({ user_id: user }));
  client.send({ event: 'pusher:subscribe', data: { channel, ...auth } });
  for (;;) {
    const { event, channel: at, data } = await client.receive();
    if (event === 'pusher_internal:subscription_succeeded' && at === channel) return String(data);
    expect(event).toMatch(/subscription_count|member_(?:added|removed)/);
  }
}

async function enter(app: TestApp, user: string): Promise<AppClient> {
  const client = await app.connect();
  for (const channel of [LARGE, STAYING]) await subscribe(app, client, channel, user);
  return client;
}

/** A user who comes back, as libraries do, when its connection is closed because it may have missed events. */
async function comeAndStay(app: TestApp, user: string): Promise<AsyncDisposable> {
  let isOver = false;
  let client = await enter(app, user);
  const follow = () =>
    void client.closed.then(async () => {
      if (isOver) return;
      // Until all is known again, it may be refused.
      const back = await eventually(
        () => enter(app, user).catch(() => undefined),
        (entered) => isOver || entered !== undefined,
      );
      if (back === undefined) return;
      client = back;
      follow();
    });
  follow();
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      await client[Symbol.asyncDispose]();
    },
  };
}

/** The users of both channels, and how many the channels say they have. */
async function seenAt(app: TestApp): Promise<unknown> {
  const seen = [LARGE, STAYING].map(async (channel) => {
    const path = `/channels/${channel}`;
    const counts = await app.api('GET', path, { query: { info: 'user_count' } });
    const listed = await app.api('GET', `${path}/users`);
    // Redis may be loading.
    if (!counts.ok || !listed.ok) return [counts.status, listed.status];
    const { user_count } = (await counts.json()) as { user_count: number };
    const { users } = (await listed.json()) as { users: { id: string }[] };
    return [user_count, users.map(({ id }) => id).toSorted()];
  });
  return await Promise.all(seen);
}

it('large channels, and those whose members stay, are exact again on all servers after Redis has lost its data', async () => {
  const presence = [
    { channels: LARGE, members: 0, shown: 3 },
    { channels: STAYING, graceSeconds: GRACE_SECONDS },
  ];
  await using cluster = await startCluster(2, { app: { presence } });
  await using clients = new AsyncDisposableStack();
  const users = Array.from({ length: 12 }, (_, n) => `user-${String(n).padStart(2, '0')}`);
  for (const [n, user] of users.entries()) {
    const app = cluster.apps[n % 2];
    if (app !== undefined) clients.use(await comeAndStay(app, user));
  }
  const gone = await Promise.all(cluster.apps.map((app, n) => enter(app, `gone-${n}`)));
  for (const client of gone) await client[Symbol.asyncDispose]();
  const left = ['gone-0', 'gone-1'];
  const expectAt = async (expected: unknown) => {
    for (const app of cluster.apps) {
      await eventually(
        () => seenAt(app),
        (seen) => Bun.deepEquals(seen, expected),
      );
    }
  };
  await expectAt([
    [12, users],
    [14, [...left, ...users]],
  ]);
  const redis = new RedisClient(cluster.redis.url);
  await redis.send('FLUSHALL', []);
  redis.close();
  // Those who only waited are gone: nobody holds them.
  const after = [
    [12, users],
    [12, users],
  ];
  await expectAt(after);
  for (const app of cluster.apps) {
    const newcomer = await app.connect();
    const data = await subscribe(app, newcomer, LARGE, 'newcomer');
    expect(JSON.parse(data)).toMatchObject({ presence: { count: 13 } });
    await newcomer[Symbol.asyncDispose]();
    await expectAt(after);
  }
}, 120_000);
