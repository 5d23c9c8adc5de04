import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test';
import { RedisClient } from 'bun';
import type { App } from '../../../src/channels/app.ts';
import type { UserStatus } from '../../../src/channels/ports.ts';
import { watchChannel } from '../../../src/channels/users/watch-topic.ts';
import type { Tap } from '../../../src/channels/watching/tap.ts';
import { partitionOf } from '../../../src/engines/partition.ts';
import { CLAIM, TICK } from '../../../src/engines/redis/scripts/upkeep.ts';
import { SIGN } from '../../../src/engines/redis/scripts/users.ts';
import { type OwnRedis, startRedis } from '../../../testing/servers/redis.ts';
import { type LoopOptions, type RedisLoop, RedisLoops } from '../../contracts/redis-loops.ts';
import { appWith } from '../../contracts/values.ts';

/** Who is online, over a Redis and servers that fail. */

const events = ['user_online', 'user_offline'] as const;
const webhooks = [{ url: 'http://localhost/', events, batching: true }];
const app: App = { ...appWith({}), webhooks };
const patient: App = { ...appWith({}, 'patient'), webhooks, offlineSeconds: 40 };

let redis: OwnRedis;
let asking: RedisClient;
let cluster: RedisLoops;

beforeAll(async () => {
  redis = await startRedis();
  asking = new RedisClient(redis.url);
});

afterEach(() => cluster.close());

afterAll(async () => {
  asking.close();
  await redis[Symbol.asyncDispose]();
});

async function open(...loops: readonly Pick<LoopOptions, 'fate'>[]) {
  const [first = {}, ...others] = loops;
  cluster = new RedisLoops([redis.url], [app, patient]);
  const opened: [RedisLoop, ...RedisLoop[]] = [await cluster.add(first)];
  for (const options of others) opened.push(await cluster.add(options));
  // After this long, a node may sweep others.
  await cluster.advance(12_000);
  return opened;
}

const signIn = ({ engine }: RedisLoop, user = 'ann', of = app) => engine.signIn(of, user, 1);
const signOut = ({ engine }: RedisLoop, user = 'ann', of = app) => engine.signOut(of, user, 0);

async function statusAt({ engine }: RedisLoop, user = 'ann', of = app) {
  const [status] = await engine.userStatuses(of, [user]);
  return status as UserStatus;
}

/** What webhooks were told, with how long ago users were last seen, in seconds. */
async function told(): Promise<readonly string[]> {
  await cluster.settled();
  return cluster.reported().map(({ event }) => {
    if (!('last_seen_ms' in event)) return `+${'user_id' in event ? event.user_id : ''}`;
    const seconds = Math.round((cluster.clock.now() - event.last_seen_ms) / 1000);
    return `-${event.user_id} seen ${seconds} s ago`;
  });
}

describe('a server that is killed', () => {
  it('takes its users offline once, when they were seen, and not those who are back elsewhere', async () => {
    const [here, there = here] = await open({}, {});
    await signIn(there);
    await signIn(there, 'bob');
    expect(await told()).toEqual(['+ann', '+bob']);
    const { sinceMs } = await statusAt(here);
    await cluster.kill(there);
    await cluster.advance(4000);
    await signIn(here);
    await cluster.advance(12_000);
    expect(await told()).toMatchObject([expect.stringMatching(/^-bob seen 1[4-8] s ago$/)]);
    expect(await statusAt(here)).toMatchObject({ isOnline: true, sinceMs });
    const { lastSeenMs = 0 } = await statusAt(here, 'bob');
    expect(cluster.clock.now() - lastSeenMs).toBeWithin(14_000, 19_000);
    await cluster.advance(30_000);
    expect(await told()).toEqual([]);
  });

  it('lets its users be online for as long as their app says, from when it was last heard of', async () => {
    const [here, there = here] = await open({}, {});
    await signIn(there, 'ann', patient);
    await cluster.kill(there);
    await cluster.advance(25_000);
    await cluster.advance(10_000);
    expect(await told()).toEqual(['+ann']);
    expect((await statusAt(here, 'ann', patient)).isOnline).toBe(true);
    await cluster.advance(8000);
    expect(await told()).toEqual([expect.stringMatching(/^-ann seen 4[1-5] s ago$/)]);
    expect((await statusAt(here, 'ann', patient)).isOnline).toBe(false);
  });

  it('leaves to others what it has not reported of who had left', async () => {
    let isMute = false;
    const [here, there = here] = await open(
      {},
      { fate: (script) => (isMute && [CLAIM, TICK].includes(script) ? 'not-run' : 'answered') },
    );
    await signIn(there);
    expect(await told()).toEqual(['+ann']);
    isMute = true;
    await signOut(there);
    await cluster.kill(there);
    await cluster.advance(6000);
    expect(await told()).toEqual(['-ann seen 6 s ago']);
    expect(await statusAt(here)).toMatchObject({ isOnline: false });
    await cluster.advance(20_000);
    expect(await told()).toEqual([]);
  });
});

it('a server that is stopped for long has lost its users, who are back with it', async () => {
  const [here, there = here] = await open({}, {});
  await signIn(there);
  expect(await told()).toEqual(['+ann']);
  cluster.suspend(there);
  await cluster.advance(20_000);
  expect(await told()).toEqual([expect.stringMatching(/^-ann /)]);
  cluster.resume(there);
  await cluster.advance(5000);
  expect(await told()).toEqual(['+ann']);
  expect(await statusAt(here)).toMatchObject({ isOnline: true });
});

describe('a Redis that has lost its data', () => {
  it('changes nothing for who is online, who is so since the same time', async () => {
    const [here, there = here] = await open({}, {});
    await signIn(there);
    await signIn(here, 'bob');
    await cluster.advance(5000);
    await signIn(there, 'bob');
    const before = [await statusAt(here), await statusAt(here, 'bob')];
    await told();
    await asking.send('FLUSHALL', []);
    await cluster.advance(20_000);
    expect(await told()).toEqual([]);
    const after = [await statusAt(here), await statusAt(here, 'bob')];
    for (const [n, { isOnline, sinceMs = 0 }] of after.entries()) {
      expect(isOnline).toBe(true);
      expect(Math.abs(sinceMs - (before[n]?.sinceMs ?? 0))).toBeLessThan(1000);
    }
    await signOut(there);
    await cluster.advance(4000);
    expect(await told()).toEqual(['-ann seen 4 s ago']);
  });

  it('tells webhooks once who had left, and who has come while servers are stating what they hold', async () => {
    const [here, there = here] = await open({}, {});
    await signIn(there);
    await signIn(here, 'bob');
    await told();
    await signOut(there);
    await asking.send('FLUSHALL', []);
    await cluster.advance(3000);
    await signIn(there, 'eve');
    // He has been there.
    await signIn(there, 'bob');
    expect(await told()).toEqual([]);
    await cluster.advance(20_000);
    expect((await told()).toSorted()).toEqual(['+eve', '-ann seen 23 s ago']);
  });

  it('tells webhooks once who came and moved on or left before they were lost again', async () => {
    const [here, there = here] = await open({}, {});
    await signIn(there, 'bob');
    await told();
    await asking.send('FLUSHALL', []);
    await cluster.advance(3000);
    for (const user of ['ann', 'eve']) await signIn(here, user);
    await cluster.advance(1000);
    for (const user of ['ann', 'eve']) await signOut(here, user);
    await signIn(there);
    await cluster.advance(1000);
    await asking.send('FLUSHALL', []);
    expect(await told()).toEqual([]);
    await cluster.advance(20_000);
    expect((await told()).toSorted()).toEqual(['+ann', '+eve', '-eve seen 21 s ago']);
  });

  it('does not answer who is online before it knows of all servers', async () => {
    const [here] = await open({});
    await signIn(here);
    await asking.send('FLUSHALL', []);
    await cluster.advance(3000);
    expect(here.engine.userStatuses(app, ['ann'])).rejects.toThrow('not all is known yet');
    await cluster.advance(12_000);
    expect(await statusAt(here)).toMatchObject({ isOnline: true });
  });
});

it('a sign-in and a sign-out whose replies are lost are told once', async () => {
  let lost = 0;
  const [here] = await open({
    fate: (script) => (script === SIGN && lost-- > 0 ? 'reply-lost' : 'answered'),
  });
  lost = 2;
  const signedIn = signIn(here);
  await cluster.advance(3000);
  expect(await signedIn).toBe(true);
  expect(await told()).toEqual(['+ann']);
  lost = 1;
  await signOut(here);
  await cluster.advance(15_000);
  expect(await told()).toEqual([expect.stringMatching(/^-ann /)]);
});

it('webhooks that are set while a user is online are told when its server dies', async () => {
  const [here, there = here] = await open({}, {});
  Object.assign(app, { webhooks: [] });
  await signIn(there);
  Object.assign(app, { webhooks });
  for (const { engine } of [here, there]) engine.appsChanged();
  await cluster.advance(4000);
  expect(await told()).toEqual([]);
  await cluster.kill(there);
  await cluster.advance(20_000);
  expect(await told()).toEqual([expect.stringMatching(/^-ann /)]);
});

it('live streams show a user who comes online and goes offline once, however many servers there are', async () => {
  const [here, there = here, last = here] = await open({}, {}, {});
  const shown: string[] = [];
  const tap: Tap = {
    record: ({ kind, user }) => void shown.push(`${kind} ${user}`),
    sent: () => undefined,
  };
  Object.assign(app, { tap });
  for (const loop of [here, there, last]) await signIn(loop);
  await signOut(here);
  await signOut(there);
  await cluster.advance(5000);
  expect(shown).toEqual(['user-online ann']);
  await signOut(last);
  await cluster.advance(2000);
  await signIn(here);
  await cluster.advance(5000);
  await asking.send('FLUSHALL', []);
  await cluster.advance(20_000);
  expect(shown).toEqual(['user-online ann']);
  await signOut(here);
  await cluster.advance(5000);
  expect(shown).toEqual(['user-online ann', 'user-offline ann']);
  Object.assign(app, { tap: undefined });
});

describe('when users were last seen', () => {
  it('is kept of 1,562 users of an app in a partition: the latest', async () => {
    const [here] = await open({});
    const users: string[] = [];
    for (let n = 0; users.length < 1600; n++) {
      if (partitionOf(app, watchChannel(`user-${n}`)) === 7) users.push(`user-${n}`);
    }
    await Promise.all(users.map((user) => signIn(here, user)));
    for (const user of users) await signOut(here, user);
    // A call makes few of them offline.
    await cluster.advance(30_000);
    const statuses = await here.engine.userStatuses(app, users);
    const known = statuses.filter(({ lastSeenMs }) => lastSeenMs !== undefined);
    expect(known).toHaveLength(1562);
    expect(statuses[1599]?.lastSeenMs).toBeDefined();
  });

  it('is forgotten with the app', async () => {
    const [here] = await open({});
    await signIn(here);
    await signOut(here);
    await cluster.advance(4000);
    expect((await statusAt(here)).lastSeenMs).toBeDefined();
    here.engine.forgetApp(app.id);
    await cluster.advance(4000);
    expect((await statusAt(here)).lastSeenMs).toBeUndefined();
  });
});
