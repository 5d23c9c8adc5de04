import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Audience, ChannelPage } from '../../../src/channels/ports.ts';
import { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { ALL_SCRIPTS } from '../../../src/engines/redis/scripts/all-scripts.ts';
import * as claims from '../../../src/engines/redis/scripts/claims.ts';
import * as events from '../../../src/engines/redis/scripts/events.ts';
import { FORGET_APP } from '../../../src/engines/redis/scripts/forget-app.ts';
import * as histories from '../../../src/engines/redis/scripts/histories.ts';
import { MOVED } from '../../../src/engines/redis/scripts/moved.ts';
import * as queries from '../../../src/engines/redis/scripts/queries.ts';
import * as quotas from '../../../src/engines/redis/scripts/quotas.ts';
import * as recentEvents from '../../../src/engines/redis/scripts/recent-events.ts';
import * as statements from '../../../src/engines/redis/scripts/statements.ts';
import * as upkeep from '../../../src/engines/redis/scripts/upkeep.ts';
import * as users from '../../../src/engines/redis/scripts/users.ts';
import { runs } from '../../../testing/long-run.ts';
import { type OwnRedis, startRedis } from '../../../testing/servers/redis.ts';
import { RedisLoops } from '../../contracts/redis-loops.ts';
import { app, Node } from '../../contracts/redis-node.ts';
import { channel } from '../../contracts/values.ts';

/** One conversation in which every script runs, with the first replies of each script lost in turn. */

const ROOM = 'presence-room';

let redis: OwnRedis;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(async () => {
  await redis[Symbol.asyncDispose]();
});

/**
 * With EXIT, a server ends. Backends ask again for a page of a history or of a large channel's members, for who is online, and to forget a history. RECENT_OF_ALL only runs beside
 * servers of an earlier release. FORGET_APP runs again with the next tick. REPORTED and DEPARTED only run after a loss of data, of which
 * all is repeated.
 */
const NOT_REPEATED: ReadonlySet<RedisScript> = new Set([
  recentEvents.RECENT_OF_ALL,
  upkeep.EXIT,
  histories.READ_HISTORY,
  queries.MEMBERS_PAGE,
  histories.FORGET_HISTORY,
  FORGET_APP,
  statements.REPORTED,
  statements.DEPARTED,
  users.USER_STATUSES,
]);

const scripts = Object.entries({
  ...statements,
  ...histories,
  ...events,
  ...recentEvents,
  ...queries,
  ...upkeep,
  ...users,
}).flatMap(([name, one]) =>
  one instanceof RedisScript && !NOT_REPEATED.has(one) ? [[name, one] as const] : [],
);

const fates = (['reply-lost', 'not-run'] as const).slice(0, runs(1, 2));

/** How often the script fails, one time after the other. */
const LOST = 2;

it('every script is in the table', () => {
  // Those of quotas, and for noted losses, are asked again each second. A claim that was not released ends by itself, a loss that was
  // not noted is searched, and only a cluster moves.
  const ofClaims = [claims.RELEASE, claims.NOTE_LOSS, claims.LOSSES];
  const others = [...Object.values(quotas), ...ofClaims, MOVED, ...NOT_REPEATED];
  expect(new Set(scripts.map(([, one]) => one))).toEqual(
    new Set(ALL_SCRIPTS).difference(new Set(others)),
  );
});

describe.each(scripts)('when calls of %s fail, all is right in the end', (_, script) => {
  it.each(fates)('if two are %s', async (becomes) => {
    const cluster = new RedisLoops([redis.url], [app]);
    const problems: unknown[] = [];
    const add = async (number: number, fails: boolean) => {
      const node = new Node(number, problems);
      let lost = 0;
      let isOpen = false;
      const fate = (one: RedisScript) => {
        if (!fails || !isOpen || one !== script || lost === LOST) return 'answered';
        lost++;
        return becomes;
      };
      node.loop = await cluster.add({ audience: node as unknown as Audience, fate });
      isOpen = true;
      return { node, lost: () => lost };
    };
    const { node: near } = await add(1, false);
    const { node: far, lost } = await add(2, true);
    const engine = () => far.loop.engine;
    /** Lets time pass until the work is done. */
    const done = async (work: Promise<unknown>) => {
      let isDone = false;
      const settled = work.finally(() => {
        isDone = true;
      });
      settled.catch(() => undefined);
      while (!isDone) await cluster.advance(250);
      return await settled;
    };
    /** What answers with an error is asked again, as a backend does. */
    const again = async (ask: () => Promise<unknown>) => {
      for (let n = 0; n < LOST; n++) {
        try {
          return await done(ask());
        } catch {
          await cluster.advance(1000);
        }
      }
      return await done(ask());
    };
    const clientOf = (node: Node, text: string) => {
      const client = [...node.clients].find((one) => one.text === text);
      if (client === undefined) throw new Error(`Nobody is in ${text}`);
      return client;
    };

    for (const node of [near, far]) await done(node.watch());
    for (const [node, userId] of [
      [far, '1'],
      [near, '2'],
    ] as const) {
      await done(node.join(ROOM, userId));
      for (const text of ['news', 'cache-news']) await done(node.join(text, undefined));
      await done(node.signIn(userId));
    }
    await again(() => far.publish('cache-news', 'event'));
    await again(() => far.publish('news', 'event'));
    await again(() => engine().terminate(app, '2'));
    expect(near.loop.terminated).toContain('2');
    await done(far.leave(clientOf(far, 'news')));
    await cluster.advance(5000);
    far.loop.gap();
    await cluster.advance(5000);
    // It is found dead, and comes back.
    cluster.suspend(far.loop);
    await cluster.advance(20_000);
    cluster.resume(far.loop);
    await cluster.advance(20_000);
    await done(near.signOut('2'));
    await done(near.leave(clientOf(near, ROOM)));
    await cluster.advance(10_000);

    expect([...clientOf(far, ROOM).members]).toEqual(['1']);
    expect(clientOf(near, 'news').count).toBe(1);
    expect(clientOf(near, 'cache-news').count).toBe(2);
    for (const node of [near, far]) expect([...node.online]).toEqual(['1']);
    const received = [near, far].map((node) => clientOf(node, 'cache-news').events);
    expect(received[0]?.length).toBeGreaterThan(0);
    expect(received[1]).toEqual(received[0]);
    expect(await again(() => engine().members(app, channel(ROOM)))).toMatchObject([
      { userId: '1' },
    ]);
    expect(await again(() => engine().member(app, channel(ROOM), '1'))).toMatchObject({
      userId: '1',
    });
    expect(await again(() => engine().counts(app, channel('news')))).toEqual({
      subscriptions: 1,
      users: 0,
    });
    expect(await again(() => engine().cached(app, channel('cache-news')))).toMatchObject({
      name: 'event',
    });
    expect(await again(() => engine().channelCountOf(app))).toBe(3);
    const listed: string[] = [];
    for (let after: string | undefined = '0'; after !== undefined; ) {
      const query = { prefix: 'news', after };
      const page = async () => await engine().channels(app, query).page(64);
      const { channels, next } = (await again(page)) as ChannelPage;
      listed.push(...channels.map(([text]) => text));
      after = next;
    }
    expect(listed).toEqual(['news']);
    const reported = new Map(
      cluster
        .reported()
        .map(({ id, event }) => [
          id,
          `${event.name} ${'user_id' in event ? event.user_id : event.channel}`,
        ]),
    );
    expect([...reported.values()].toSorted()).toEqual([
      'channel_occupied cache-news',
      'channel_occupied news',
      'channel_occupied presence-room',
      'member_added 1',
      // While the node was dead.
      'member_added 1',
      'member_added 2',
      'member_removed 1',
      'member_removed 2',
    ]);
    expect(problems).toEqual([]);
    expect(lost()).toBe(LOST);
    await cluster.close();
  });
});
