import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import { RedisClient } from 'bun';
import type { App } from '../../../src/channels/app.ts';
import type { Tap } from '../../../src/channels/watching/tap.ts';
import { STATE } from '../../../src/engines/redis/scripts/statements.ts';
import { type OwnRedis, startRedis } from '../../../testing/servers/redis.ts';
import type { RecordingAudience } from '../../contracts/loop-stage.ts';
import { LoopStage } from '../../contracts/loop-stage.ts';
import { type Fate, type RedisLoop, RedisLoops } from '../../contracts/redis-loops.ts';
import { appWith, channel, presenceRules } from '../../contracts/values.ts';

/** Members that stay without connections, over a Redis and servers that fail. */

const LONG = 'presence-long';
const SHORT = 'presence-short';

const app: App = {
  ...appWith({ memberChangesPerSecond: 0, presenceMembers: 0 }),
  presence: presenceRules(
    { channels: LONG, graceSeconds: 20 },
    { channels: SHORT, graceSeconds: 5 },
  ),
  webhooks: [
    {
      url: 'http://localhost/',
      events: ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'],
      batching: true,
    },
  ],
};
const plain: App = { ...appWith({}, 'plain'), presence: app.presence };

let redis: OwnRedis;
let asking: RedisClient;
let cluster: RedisLoops;

beforeAll(async () => {
  redis = await startRedis();
  asking = new RedisClient(redis.url);
});

beforeEach(() => {
  cluster = new RedisLoops([redis.url], [app, plain]);
});

afterEach(() => cluster.close());

afterAll(async () => {
  asking.close();
  await redis[Symbol.asyncDispose]();
});

interface Server extends LoopStage {
  readonly loop: RedisLoop;
}

async function add(fate?: Fate): Promise<Server> {
  const number = cluster.all.length;
  const loop = await cluster.add(fate && { fate });
  const { engine: authority, audience, terminated } = loop;
  const stage = new LoopStage({
    ...{ number, authority, terminated },
    audience: audience as unknown as RecordingAudience,
  });
  return Object.assign(stage, { loop });
}

/** The watcher is on the first server, the others are on the second one. */
async function enter(servers: readonly [Server, Server], users: readonly string[]): Promise<void> {
  const [here, there] = servers;
  for (const room of [LONG, SHORT]) {
    await here.join(app, room, 'watcher');
    for (const user of users) await there.join(app, room, user);
  }
  // After this long, a node may sweep others.
  await cluster.advance(12_000);
  await cluster.settled();
  for (const room of [LONG, SHORT]) here.received(app, room);
  cluster.reported();
}

const reported = () =>
  cluster
    .reported()
    .map(({ event }) => `${event.name} ${'user_id' in event ? event.user_id : ''} ${event.channel}`)
    .toSorted();

const added = (user: string, room: string) => `member_added ${user} ${room}`;
const removed = (user: string, room: string) => `member_removed ${user} ${room}`;

describe('a server that is killed', () => {
  it('lets its members go once, when their time is over, and not those who came back elsewhere', async () => {
    const servers = [await add(), await add()] as const;
    const [here, there] = servers;
    await enter(servers, ['ann', 'bob']);
    await cluster.kill(there.loop);
    await cluster.advance(4000);
    for (const room of [LONG, SHORT]) await here.join(app, room, 'ann');
    await cluster.advance(12_000);
    await cluster.settled();
    // They have waited while the lease of the server ran.
    expect(here.received(app, SHORT)).toEqual(['member_removed bob']);
    expect(here.received(app, LONG)).toEqual([]);
    await cluster.advance(3000);
    expect(here.received(app, LONG)).toEqual([]);
    await cluster.advance(7000);
    await cluster.settled();
    expect(here.received(app, LONG)).toEqual(['member_removed bob']);
    await cluster.advance(10_000);
    expect(reported()).toEqual([removed('bob', LONG), removed('bob', SHORT)]);
    for (const room of [LONG, SHORT]) {
      const counts = await here.authority.counts(app, channel(room));
      expect(counts).toEqual({ subscriptions: 2, users: 2 });
    }
  });

  it('does not end the stay of those who had left it before', async () => {
    const servers = [await add(), await add()] as const;
    const [here, there] = servers;
    await enter(servers, ['ann']);
    await there.lose(app, LONG, 'ann');
    await cluster.settled();
    await cluster.kill(there.loop);
    await cluster.advance(18_000);
    expect(here.received(app, LONG)).toEqual([]);
    await here.join(app, LONG, 'ann');
    await cluster.advance(30_000);
    await cluster.settled();
    expect(here.received(app, LONG)).toEqual([]);
    expect(reported().filter((one) => one.endsWith(LONG))).toEqual([]);
  });
});

describe('a server that stops', () => {
  it('is not noticed by clients and webhooks if its members come back elsewhere', async () => {
    const servers = [await add(), await add()] as const;
    const [here, there] = servers;
    await enter(servers, ['ann', 'bob']);
    for (const user of ['ann', 'bob']) {
      for (const room of [LONG, SHORT]) await there.lose(app, room, user);
    }
    await there.loop.engine.close();
    there.loop.isDead = true;
    await cluster.advance(3000);
    for (const user of ['ann', 'bob']) {
      for (const room of [LONG, SHORT]) await here.join(app, room, user);
    }
    await cluster.advance(30_000);
    await cluster.settled();
    for (const room of [LONG, SHORT]) expect(here.received(app, room)).toEqual([]);
    expect(reported()).toEqual([]);
  });
});

describe('a Redis that has lost its data', () => {
  it('has nobody who only waited, and others and webhooks are told once', async () => {
    const servers = [await add(), await add()] as const;
    const [here, there] = servers;
    await enter(servers, ['ann', 'bob']);
    for (const room of [LONG, SHORT]) await there.lose(app, room, 'ann');
    await cluster.settled();
    await asking.send('FLUSHALL', []);
    await cluster.advance(20_000);
    await cluster.settled();
    for (const room of [LONG, SHORT]) {
      expect(here.received(app, room)).toEqual(['member_removed ann']);
    }
    await cluster.advance(20_000);
    expect(reported()).toEqual([removed('ann', LONG), removed('ann', SHORT)]);
  });

  it('reports once who came and is back at another server before it has lost them again', async () => {
    const servers = [await add(), await add()] as const;
    const [here, there] = servers;
    await enter(servers, []);
    await asking.send('FLUSHALL', []);
    await cluster.advance(3000);
    for (const room of [LONG, SHORT]) await there.join(app, room, 'ann');
    await cluster.advance(1000);
    for (const room of [LONG, SHORT]) await there.lose(app, room, 'ann');
    await cluster.advance(1000);
    for (const room of [LONG, SHORT]) await here.join(app, room, 'ann');
    await cluster.advance(1000);
    await asking.send('FLUSHALL', []);
    await cluster.advance(20_000);
    expect(reported()).toEqual([added('ann', LONG), added('ann', SHORT)]);
  });
});

describe('live streams', () => {
  it('show members whose stay is over, or whose server was killed, and then that their channel is empty, once', async () => {
    const shown: string[] = [];
    const tap: Tap = {
      record: ({ kind, user, channel: name }) => void shown.push(`${kind} ${user ?? ''} ${name}`),
      sent: () => undefined,
    };
    const watched: App = { ...plain, id: 'watched', tap };
    await cluster.close();
    cluster = new RedisLoops([redis.url], [watched]);
    const [here, there] = [await add(), await add()];
    await here.join(watched, SHORT, 'ann');
    await there.join(watched, SHORT, 'bob');
    await there.join(watched, 'presence-other', 'eve');
    await here.join(watched, LONG, 'ann');
    await cluster.advance(12_000);
    shown.length = 0;
    await here.lose(watched, LONG, 'ann');
    await here.lose(watched, SHORT, 'ann');
    await cluster.advance(4000);
    await cluster.settled();
    expect(shown).toEqual([]);
    await cluster.advance(4000);
    await cluster.settled();
    expect(shown).toEqual([`member-removed ann ${SHORT}`]);
    await cluster.kill(there.loop);
    await cluster.advance(30_000);
    await cluster.settled();
    expect(shown.toSorted()).toEqual([
      'member-removed ann presence-long',
      'member-removed ann presence-short',
      'member-removed bob presence-short',
      'member-removed eve presence-other',
      'vacated  presence-long',
      'vacated  presence-other',
      'vacated  presence-short',
    ]);
  });
});

describe('a statement', () => {
  it('whose reply is lost lets a member stay once', async () => {
    let isLost = false;
    const servers = [
      await add(),
      await add((script) => (isLost && script === STATE ? 'reply-lost' : 'answered')),
    ] as const;
    const [here, there] = servers;
    await enter(servers, ['ann', 'bob']);
    isLost = true;
    await there.lose(app, LONG, 'ann');
    isLost = false;
    await cluster.advance(4000);
    const counts = () => here.authority.counts(app, channel(LONG));
    expect(await counts()).toEqual({ subscriptions: 3, users: 3 });
    await here.join(app, LONG, 'ann');
    await cluster.advance(25_000);
    await cluster.settled();
    expect(here.received(app, LONG)).toEqual([]);
    expect(await counts()).toEqual({ subscriptions: 3, users: 3 });
  });

  it('that is late lets a member stay for what is left of its time', async () => {
    let isAway = false;
    const servers = [
      await add(),
      await add((script) => (isAway && script === STATE ? 'not-run' : 'answered')),
    ] as const;
    const [here, there] = servers;
    await enter(servers, ['ann']);
    isAway = true;
    await there.lose(app, LONG, 'ann');
    await cluster.advance(8000);
    isAway = false;
    await cluster.advance(11_000);
    expect(here.received(app, LONG)).toEqual([]);
    await cluster.advance(2000);
    await cluster.settled();
    expect(here.received(app, LONG)).toEqual(['member_removed ann']);
  });
});

describe('more members than one statement holds', () => {
  it('stay, come back and go as few do', async () => {
    let isAway = false;
    const servers = [
      await add(),
      await add((script) => (isAway && script === STATE ? 'not-run' : 'answered')),
    ] as const;
    const [here, there] = servers;
    await enter(servers, []);
    const users = Array.from({ length: 70 }, (_, n) => `user-${n}`);
    for (const user of users) await there.join(app, LONG, user);
    await cluster.settled();
    here.received(app, LONG);
    isAway = true;
    for (const user of users) await there.lose(app, LONG, user);
    isAway = false;
    await cluster.advance(4000);
    const counts = () => here.authority.counts(app, channel(LONG));
    expect(await counts()).toEqual({ subscriptions: 71, users: 71 });
    for (const user of users.slice(0, 30)) await here.join(app, LONG, user);
    await cluster.settled();
    expect(await counts()).toEqual({ subscriptions: 71, users: 71 });
    expect(here.received(app, LONG)).toEqual([]);
    await cluster.advance(20_000);
    await cluster.settled();
    expect(await counts()).toEqual({ subscriptions: 31, users: 31 });
    expect(here.received(app, LONG).toSorted()).toEqual(
      users
        .slice(30)
        .map((user) => `member_removed ${user}`)
        .toSorted(),
    );
  });
});

describe('a server of an earlier release', () => {
  it('that drops what it does not know leaves no member behind', async () => {
    const servers = [await add(), await add()] as const;
    const [here, there] = servers;
    await enter(servers, ['ann']);
    await there.lose(app, LONG, 'ann');
    await cluster.settled();
    const due = (await asking.keys('*W')).filter((key) => key.endsWith('}W'));
    for (const key of due) {
      await asking.send('ZADD', [key.replace(/W$/, 'L'), '9999999999999', 'an-old-node']);
      await asking.send('ZREM', [key, 'g']);
    }
    await cluster.advance(22_000);
    await cluster.settled();
    expect(here.received(app, LONG)).toEqual(['member_removed ann']);
  });
});

describe('the commands in Redis', () => {
  /** Those of statements, without what renews leases. */
  async function countOf(work: () => Promise<unknown>): Promise<number> {
    await asking.send('CONFIG', ['RESETSTAT']);
    await work();
    const text = String(await asking.send('INFO', ['commandstats']));
    const all = [...text.matchAll(/^cmdstat_([a-z]+)[^:]*:calls=(\d+)/gm)];
    return all
      .filter(([, name = '']) => name !== 'config')
      .reduce((sum, [, , calls]) => sum + Number(calls), 0);
  }

  it('are fewer for who stays and comes back than for who leaves and joins', async () => {
    const server = await add();
    const cost = async (of: App, room: string) => {
      await server.join(of, room, 'watcher');
      const join = await countOf(() => server.join(of, room, 'ann'));
      const leave = await countOf(() => server.lose(of, room, 'ann'));
      const back = await countOf(() => server.join(of, room, 'ann'));
      return { join, leave, back };
    };
    const without = await cost({ ...plain, presence: [] }, 'presence-other');
    const withGrace = await cost(plain, LONG);
    // A newcomer may be one who stays.
    expect(withGrace.join).toBe(without.join + 1);
    expect(withGrace.leave).toBeLessThan(without.leave);
    expect(withGrace.back).toBeLessThan(without.back);
  });
});
