import { describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import { topicOf } from '../../src/channels/event.ts';
import type { FakeClock } from '../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../src/channels/lifecycle/webhook-event.ts';
import type { ChannelWalk, Entered, Member, MembersPage } from '../../src/channels/ports.ts';
import { parseSocketId } from '../../src/channels/socket-id.ts';
import type { LoopStage } from './loop-stage.ts';
import { appWith, channel } from './values.ts';

/** Some loops that share what they know through the engine under test. */
export interface OpenCluster {
  readonly loops: readonly LoopStage[];
  readonly clock: Pick<FakeClock, 'now'>;
  /** Advances the clock, and settles when the loops have done what was due. */
  advance(ms: number): Promise<void>;
  /** The webhook events of all loops since the last call. */
  reported(): readonly AppWebhookEvent[];
  /** Settles when the loops have nothing left to send to each other. */
  settled(): Promise<void>;
}

const EVERY_EVENT = [
  'channel_occupied',
  'channel_vacated',
  'member_added',
  'member_removed',
  'cache_miss',
  'subscription_count',
] as const;

const app: App = {
  ...appWith({ presenceMembers: 3 }),
  subscriptionCounts: true,
  webhooks: [{ url: 'http://localhost/', events: EVERY_EVENT, batching: true }],
};
const other = appWith({}, 'other');
const limited = appWith({ memberChangesPerSecond: 2 }, 'limited');
const many = appWith({}, 'many');
const twoEach = appWith({ connectionsPerUser: 2 }, 'two-each');

/** The apps that the loops of a contract must know. */
const CONTRACT_APPS = [app, other, limited, many, twoEach];

/** Channels with different homes, however many loops there are. */
const ROOMS = Array.from({ length: 12 }, (_, n) => `presence-room-${n}`);

async function restOf(walk: ChannelWalk, limit = 10) {
  const all: string[] = [];
  for (let more = true; more; ) {
    const page = await walk.page(limit);
    all.push(...page.channels.map(([name]) => String(name)));
    more = page.next !== undefined;
  }
  return all;
}

/** What the core expects of any authority. */
export function authorityContract(
  name: string,
  open: (apps: readonly App[]) => Promise<OpenCluster>,
): void {
  /** Opens a cluster; `at(n)` is one of its loops, however few it has. */
  const stage = async () => {
    const cluster = await open(CONTRACT_APPS);
    const at = (n: number): LoopStage => {
      const loop = cluster.loops[n % cluster.loops.length];
      if (loop === undefined) throw new Error('There is no loop');
      return loop;
    };
    return Object.assign(cluster, { at });
  };
  const names = (events: readonly AppWebhookEvent[]) => events.map(({ event }) => event.name);

  describe(`${name} keeps the authority contract`, () => {
    it('adds a user with their first connection and removes them with the last, once for all', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        await at(0).join(app, room, 'watcher');
        await at(1).join(app, room, 'ann');
        await at(2).join(app, room, 'ann');
        await at(1).leave(app, room, 'ann');
        await cluster.settled();
        expect(at(0).received(app, room)).toEqual(['member_added ann']);
        await at(2).leave(app, room, 'ann');
        await cluster.settled();
        expect(at(0).received(app, room)).toEqual(['member_removed ann']);
      }
    });

    it('gives a newcomer all members, and not the event about itself', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        expect(await at(1).join(app, room, 'bob', '{"n":1}')).toEqual({
          members: [{ userId: 'bob', userInfo: '{"n":1}' }],
          cached: undefined,
        });
        expect(await at(2).join(app, room, 'ann')).toEqual({
          members: [
            { userId: 'bob', userInfo: '{"n":1}' },
            { userId: 'ann', userInfo: undefined },
          ],
          cached: undefined,
        });
        await cluster.settled();
        expect(at(2).receivedAfterEntry(app, room)).toEqual([]);
        expect(await at(0).authority.members(app, channel(room))).toHaveLength(2);
      }
    });

    it('gives a reader all members, who is none, and the later ones as everybody learns of them', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        const none = await at(3).join(app, room);
        expect(none).toMatchObject({ members: [] });
        await at(1).join(app, room, 'bob', '{"n":1}');
        await at(2).join(app, room, 'ann');
        const ids = ['bob', 'ann'];
        for (const reader of [0, 1, 3]) {
          const { members } = (await at(reader).join(app, room)) as Entered;
          expect(members.map(({ userId }) => userId)).toEqual(ids);
        }
        await cluster.settled();
        expect(await at(0).authority.members(app, channel(room))).toHaveLength(2);
        expect(await at(0).authority.counts(app, channel(room))).toEqual({
          subscriptions: 6,
          users: 2,
        });
        at(0).received(app, room);
        await at(2).join(app, room, 'eve');
        await cluster.settled();
        expect(at(0).received(app, room)).toEqual(['member_added eve']);
        await at(1).leave(app, room);
        await at(2).leave(app, room, 'eve');
        await cluster.settled();
        expect(at(0).received(app, room)).toEqual(['member_removed eve']);
      }
    });

    it('reports that a channel is occupied before its first member, and vacated after its last', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const namesOf = (events: readonly AppWebhookEvent[], room: string) =>
        names(events.filter(({ event }) => event.channel === room));
      for (const room of ROOMS)
        for (const user of ['ann', 'bob']) await at(0).join(app, room, user);
      const occupied = cluster.reported();
      // Departures of other members are due before.
      for (const room of ROOMS) await at(0).leave(app, room, 'ann');
      await cluster.advance(1000);
      for (const room of ROOMS) await at(0).leave(app, room, 'bob');
      await cluster.advance(5000);
      await cluster.settled();
      const vacated = cluster.reported();
      for (const room of ROOMS) {
        expect(namesOf(occupied, room).slice(0, 2)).toEqual(['channel_occupied', 'member_added']);
        expect(namesOf(vacated, room).slice(-2)).toEqual(['member_removed', 'channel_vacated']);
      }
    });

    it('tells all loops of a user up to the limit of changes per second, and then of the departure', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        for (const n of [0, 1, 2]) await at(n).join(limited, room, `watcher-${n}`);
        await cluster.settled();
        for (const n of [0, 1, 2]) at(n).received(limited, room);
        for (const n of [1, 2, 1]) {
          await at(n).join(limited, room, 'ann');
          await at(n).leave(limited, room, 'ann');
        }
        const { members } = (await at(2).join(limited, room, 'ann')) as Entered;
        expect(members.map(({ userId }) => userId)).toContain('ann');
        await at(2).leave(limited, room, 'ann');
        await at(1).publish(limited, room, 'between');
        // It comes before what is published later, but the home may not have it when the clock says that ann has left.
        await cluster.settled();
        await cluster.advance(1000);
        await at(1).publish(limited, room, 'after');
        await cluster.settled();
        const first = ['member_added ann', 'member_removed ann', 'member_added ann', 'between'];
        for (const loop of new Set([0, 1, 2].map(at))) {
          const received = loop.received(limited, room);
          expect(received).toEqual([...first, 'member_removed ann', 'after']);
        }
        await at(2).leave(limited, room, 'ann');
      }
    });

    it("keeps the info of a user's first connection until the user is gone", async () => {
      const cluster = await stage();
      const { at } = cluster;
      const [room = ''] = ROOMS;
      await at(0).join(app, room, 'ann', '{"n":1}');
      await at(1).join(app, room, 'ann', '{"n":2}');
      await at(0).leave(app, room, 'ann');
      const members = async () => await at(2).authority.members(app, channel(room));
      expect(await members()).toEqual([{ userId: 'ann', userInfo: '{"n":1}' }]);
      await at(1).leave(app, room, 'ann');
      await at(0).join(app, room, 'ann', '{"n":2}');
      expect(await members()).toEqual([{ userId: 'ann', userInfo: '{"n":2}' }]);
    });

    it('gives pages of members in which each who stays is once, while others come and go', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS.slice(0, 4)) {
        const stayers = Array.from({ length: 9 }, (_, n) => `stays-${n}`);
        for (const [n, user] of stayers.entries()) {
          await at(n % 3).join(many, room, user, `{"n":${n}}`);
          await at((n + 1) % 3).join(many, room, `goes-${n}`);
        }
        const { authority } = at(1);
        expect(await authority.member(many, channel(room), 'stays-1')).toEqual({
          userId: 'stays-1',
          userInfo: '{"n":1}',
        });
        expect(await authority.member(many, channel(room), 'nobody')).toBeUndefined();
        const seen: Member[] = [];
        let after: string | undefined;
        for (let n = 0; n === 0 || after !== undefined; n++) {
          const page: MembersPage = await at(n % 3).authority.membersPage(many, channel(room), {
            after,
            limit: 4,
          });
          expect(page.members.length).toBeLessThanOrEqual(4);
          seen.push(...page.members);
          after = page.next;
          // One who was on a page goes, one who was on none goes, and somebody comes.
          for (const user of [`goes-${n}`, `goes-${8 - n}`]) {
            if (n < 4) await at((Number(user.at(-1)) + 1) % 3).leave(many, room, user);
          }
          if (n < 4) await at(n % 3).join(many, room, `comes-${n}`);
          // Another connection of one who is there changes nothing.
          await at((n + 2) % 3).join(many, room, 'stays-0', '{"n":"another"}');
        }
        expect(seen.filter(({ userId }) => userId.startsWith('stays'))).toEqual(
          stayers.map((userId, n) => ({ userId, userInfo: `{"n":${n}}` })),
        );
        expect(new Set(seen.map(({ userId }) => userId)).size).toBe(seen.length);
        const all = await authority.members(many, channel(room));
        const query = { after: undefined, limit: all.length };
        expect(await authority.membersPage(many, channel(room), query)).toEqual({
          members: all,
          next: undefined,
        });
        const beyond = { after: '9007199254740991', limit: 4 };
        expect(await authority.membersPage(many, channel(room), beyond)).toEqual({
          members: [],
          next: undefined,
        });
      }
      const none = { after: undefined, limit: 1 };
      expect(await at(0).authority.membersPage(many, channel('presence-none'), none)).toEqual({
        members: [],
        next: undefined,
      });
    });

    it('refuses a user beyond the limit without a trace, but not one who is in already', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        await Promise.all(['ann', 'bob', 'eve'].map((user, n) => at(n).join(app, room, user)));
        expect(await at(0).join(app, room, 'dan')).toBe('full');
        expect(await at(2).join(app, room, 'dan')).toBe('full');
        expect(await at(1).authority.counts(app, channel(room))).toEqual({
          subscriptions: 3,
          users: 3,
        });
        expect(await at(2).join(app, room, 'ann')).not.toBe('full');
        await cluster.settled();
        expect(at(0).received(app, room).join()).not.toContain('dan');
      }
    });

    it('lets exactly as many in as there is room for when all come at once', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        const users = Array.from({ length: 20 }, (_, n) => `u${n}`);
        const joined = await Promise.all(users.map((user, n) => at(n).join(app, room, user)));
        expect(joined.filter((one) => one !== 'full')).toHaveLength(3);
        await cluster.settled();
        expect(await at(1).authority.counts(app, channel(room))).toEqual({
          subscriptions: 3,
          users: 3,
        });
      }
    });

    it('sends an event to all subscribers but one, in one order for all loops', async () => {
      const cluster = await stage();
      const { at, loops } = cluster;
      for (const room of ROOMS) {
        await Promise.all(loops.map((loop, n) => loop.join(app, room, `user-${n % 3}`)));
        await cluster.settled();
        for (const loop of loops) loop.received(app, room);
        const except = parseSocketId('7.7');
        await Promise.all(
          Array.from({ length: 60 }, (_, n) =>
            at(n).publish(app, room, `e${n}`, n === 5 ? except : undefined),
          ),
        );
        await cluster.settled();
        const [first = [], ...others] = loops.map((loop) => loop.received(app, room));
        expect(first.toSorted()).toEqual(
          Array.from({ length: 60 }, (_, n) => (n === 5 ? 'e5 but 7.7' : `e${n}`)).toSorted(),
        );
        for (const received of others) expect(received).toEqual(first);
      }
    });

    it('keeps the order of the events of one loop, and of those that were answered', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const [room = ''] = ROOMS;
      await at(2).join(app, room, 'ann');
      for (let n = 0; n < 10; n++) await at(n).publish(app, room, `e${n}`);
      const burst = Array.from({ length: 10 }, (_, n) => at(1).publish(app, room, `f${n}`));
      await Promise.all(burst);
      await cluster.settled();
      expect(at(2).receivedAfterEntry(app, room)).toEqual(
        ['e', 'f'].flatMap((letter) => Array.from({ length: 10 }, (_, n) => `${letter}${n}`)),
      );
    });

    it('gives a newcomer every event after its entry and none before, while others publish', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS.map((text) => text.replace('presence-', ''))) {
        await at(0).join(app, room);
        const published: Promise<unknown>[] = [];
        for (let n = 0; n < 20; n++) published.push(at(0).publish(app, room, `e${n}`));
        const joined = at(1).join(app, room);
        for (let n = 20; n < 40; n++) published.push(at(0).publish(app, room, `e${n}`));
        await Promise.all([...published, joined]);
        await cluster.settled();
        const all = at(0)
          .received(app, room)
          .filter((event) => event.startsWith('e'));
        const after = at(1)
          .receivedAfterEntry(app, room)
          .filter((event) => event.startsWith('e'));
        expect(all).toHaveLength(40);
        expect(after).toEqual(all.slice(all.length - after.length));
      }
    });

    it('does not send to loops that hold nothing of the channel any more', async () => {
      const cluster = await stage();
      const { at } = cluster;
      await at(1).join(app, 'news');
      await at(1).leave(app, 'news');
      await cluster.settled();
      at(1).received(app, 'news');
      await at(0).publish(app, 'news', 'e');
      await cluster.settled();
      expect(at(1).received(app, 'news')).toEqual([]);
      expect(await at(1).authority.counts(app, channel('news'))).toEqual({
        subscriptions: 0,
        users: 0,
      });
    });

    it('sends subscription counts over all loops, to the newcomer after its entry too', async () => {
      const cluster = await stage();
      const { at } = cluster;
      await at(0).join(app, 'news');
      await at(1).join(app, 'news');
      await cluster.settled();
      expect(at(1).receivedAfterEntry(app, 'news')).toEqual(['count 2']);
      expect(at(0).received(app, 'news')).toEqual(['count 1', 'count 2']);
      await at(0).leave(app, 'news');
      await cluster.settled();
      expect(at(1).received(app, 'news').at(-1)).toBe('count 1');
    });

    it('sends a subscription count to each newcomer, also if several enter a loop at the same moment', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const text of ['news', 'sports', 'weather']) {
        await Promise.all([1, 2, 3].map(() => at(1).join(app, text)));
        await cluster.settled();
        expect(at(1).receivedAfterEntry(app, text).at(-1)).toBe('count 3');
      }
    });

    it('sends the count of a large channel once in 5 s, and the last one always', async () => {
      const cluster = await stage();
      const { at } = cluster;
      await Promise.all(Array.from({ length: 105 }, (_, n) => at(n).join(app, 'news')));
      await cluster.settled();
      await cluster.advance(6000);
      await cluster.settled();
      expect(at(0).received(app, 'news').at(-1)).toBe('count 105');
      await Promise.all(Array.from({ length: 10 }, (_, n) => at(n).join(app, 'news')));
      await at(1).leave(app, 'news');
      await cluster.settled();
      expect(at(0).received(app, 'news').length).toBeLessThanOrEqual(1);
      await cluster.advance(5000);
      await cluster.settled();
      expect(at(0).received(app, 'news')).toEqual(['count 114']);
    });

    it('reports to webhooks once for all loops, and never a user who returns within 3 s elsewhere', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const ofEachRoom = (...wanted: ReturnType<typeof names>) => {
        const reported = Map.groupBy(cluster.reported(), ({ event }) => event.channel);
        const found = ROOMS.map((room) => names(reported.get(room) ?? []));
        expect(found).toEqual(ROOMS.map(() => [...wanted]));
      };
      for (const room of ROOMS) {
        await at(0).join(app, room, 'ann');
        await at(1).join(app, room, 'ann');
      }
      await cluster.settled();
      ofEachRoom('channel_occupied', 'member_added');
      for (const room of ROOMS) {
        await at(0).leave(app, room, 'ann');
        await at(1).leave(app, room, 'ann');
      }
      await cluster.settled();
      await cluster.advance(2999);
      for (const room of ROOMS) await at(2).join(app, room, 'ann');
      await cluster.settled();
      await cluster.advance(10_000);
      expect(names(cluster.reported())).toEqual([]);
      for (const room of ROOMS) await at(2).leave(app, room, 'ann');
      await cluster.settled();
      await cluster.advance(3000);
      ofEachRoom('member_removed', 'channel_vacated');
    });

    it('remembers the last event of a cache channel for all loops, for 30 minutes', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const texts = Array.from({ length: 6 }, (_, n) => `cache-${n}`);
      const cached = { name: 'last', data: 'data', leftMs: 1_800_000 };
      for (const text of texts) {
        expect(await at(0).join(app, text)).toEqual({ members: [], cached: undefined });
        await at(1).join(app, text);
        await cluster.settled();
        expect(names(cluster.reported()).filter((one) => one === 'cache_miss')).toHaveLength(1);
        await at(2).publish(app, text, 'last');
        expect(await at(3).join(app, text)).toEqual({ members: [], cached });
        expect(await at(1).authority.cached(app, channel(text))).toEqual(cached);
        expect(await at(1).authority.cached(other, channel(text))).toBeUndefined();
      }
      await cluster.advance(1_799_999);
      for (const text of texts) {
        expect(await at(0).authority.cached(app, channel(text))).toEqual({ ...cached, leftMs: 1 });
      }
      await cluster.advance(1);
      for (const text of texts) {
        expect(await at(0).authority.cached(app, channel(text))).toBeUndefined();
      }
    });

    it('reports who is online on any loop, and notifies watchers of each change once', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const users = Array.from({ length: 10 }, (_, n) => `user-${n}`);
      for (const [n, user] of users.entries()) if (n % 2 === 0) await at(n).signIn(app, user);
      const online = await at(1).watch(app, users);
      expect([...online].sort()).toEqual(users.filter((_, n) => n % 2 === 0));
      await at(2).signIn(app, 'user-1');
      await at(0).signIn(app, 'user-1');
      await at(2).signOut(app, 'user-1');
      await at(0).signIn(other, 'user-2');
      await cluster.settled();
      expect(at(1).watched()).toEqual(['online user-1']);
      await at(0).signOut(app, 'user-1');
      await cluster.settled();
      await cluster.advance(2999);
      expect(await at(0).watch(app, ['user-1'])).toEqual(new Set(['user-1']));
      await cluster.advance(1);
      await cluster.settled();
      expect(at(1).watched()).toEqual(['offline user-1']);
      expect(await at(2).watch(app, ['user-1'])).toEqual(new Set());
    });

    it('notifies nobody of a user who signs in on another loop within 3 s', async () => {
      const cluster = await stage();
      const { at } = cluster;
      await at(0).signIn(app, 'ann');
      await at(2).watch(app, ['ann']);
      for (const [from, to] of [
        [0, 1],
        [1, 2],
      ] as const) {
        await at(from).signOut(app, 'ann');
        await cluster.settled();
        await cluster.advance(2999);
        await at(to).signIn(app, 'ann');
        await cluster.settled();
        await cluster.advance(10_000);
        await cluster.settled();
      }
      expect(at(2).watched()).toEqual([]);
    });

    it('notifies nobody who has stopped watching', async () => {
      const cluster = await stage();
      const { at } = cluster;
      await at(1).watch(app, ['ann']);
      await at(1).watch(app, ['ann']);
      await at(1).unwatch(app, ['ann']);
      await at(0).signIn(app, 'ann');
      await cluster.settled();
      expect(at(1).watched()).toEqual(['online ann']);
      await at(1).unwatch(app, ['ann']);
      await at(0).signOut(app, 'ann');
      await cluster.settled();
      await cluster.advance(3000);
      await cluster.settled();
      expect(at(1).watched()).toEqual([]);
    });

    it('gives each user as many connections on all loops as the app allows', async () => {
      const { at } = await stage();
      for (const user of ['ann', 'bob', 'eve', 'dan']) {
        expect(await at(0).signIn(twoEach, user)).toBe(true);
        expect(await at(1).signIn(twoEach, user)).toBe(true);
        for (const n of [0, 1, 2]) expect(await at(n).signIn(twoEach, user)).toBe(false);
        await at(1).signOut(twoEach, user);
        expect(await at(0).signIn(twoEach, user)).toBe(true);
        for (const n of [0, 1, 2]) expect(await at(n).signIn(twoEach, user)).toBe(false);
        await at(0).signOut(twoEach, user);
        expect(await at(2).signIn(twoEach, user)).toBe(true);
        expect(await at(1).signIn(twoEach, user)).toBe(false);
        expect(await at(1).watch(twoEach, [user])).toEqual(new Set([user]));
        expect(await at(1).signIn(other, user)).toBe(true);
      }
    });

    it('ends the connections of a user on each loop that has any, and on no other', async () => {
      const cluster = await stage();
      const { at, loops } = cluster;
      for (const user of ['ann', 'bob', 'eve', 'dan']) {
        await at(0).signIn(app, user);
        await at(1).signIn(app, user);
        await at(2).authority.terminate(app, user);
        await cluster.settled();
        const ended = loops.map((loop) => loop.ended());
        expect(ended).toEqual(loops.map((_, n) => (n < 2 ? [user] : [])));
      }
    });

    it('lists the occupied channels of one app, whatever loops they are on, each exactly once', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const all = Array.from({ length: 45 }, (_, n) => `many-${String(n).padStart(2, '0')}`);
      for (const [n, text] of all.entries()) {
        await at(n).join(app, text);
        await at(n + 1).join(app, text);
      }
      await at(0).join(app, 'presence-x', 'ann');
      await at(0).join(other, 'many-of-another-app');
      const { authority } = at(1);
      expect(await authority.channelCountOf(app)).toBe(46);
      for (const limit of [1, 7, 100]) {
        const listed = await restOf(
          authority.channels(app, { prefix: 'many-', after: undefined }),
          limit,
        );
        expect(listed.toSorted()).toEqual(all);
      }
      // A walk continues where a page of another walk ended.
      const first = await authority.channels(app, { prefix: '', after: undefined }).page(10);
      expect(first.channels.length).toBeGreaterThan(0);
      expect(first.next).toMatch(/^\d{1,16}$/);
      const rest = await restOf(at(0).authority.channels(app, { prefix: '', after: first.next }));
      expect([...first.channels.map(([text]) => String(text)), ...rest].toSorted()).toEqual(
        [...all, 'presence-x'].toSorted(),
      );
    });

    it('has on exactly one page each channel that stays, whatever comes and goes meanwhile', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const all = Array.from({ length: 25 }, (_, n) => `many-${n}`);
      for (const [n, text] of all.entries()) await at(n).join(app, text);
      const walk = at(0).authority.channels(app, { prefix: '', after: undefined });
      const first = await walk.page(5);
      // Also the one at which the page ended.
      const gone = first.channels.at(-1)?.[0] ?? '';
      await at(all.indexOf(gone)).leave(app, gone);
      await at(0).join(app, 'late');
      const listed = [...first.channels.map(([text]) => String(text)), ...(await restOf(walk))];
      expect(listed.filter((text) => text !== 'late').sort()).toEqual(all.toSorted());
    });

    it('keeps apps apart', async () => {
      const cluster = await stage();
      const { at } = cluster;
      await at(0).join(app, 'news');
      await at(1).publish(other, 'news', 'e');
      await cluster.settled();
      expect(at(0).received(app, 'news')).toEqual(['count 1']);
      expect(await at(1).authority.counts(other, channel('news'))).toEqual({
        subscriptions: 0,
        users: 0,
      });
      expect(topicOf(app, channel('news'))).not.toBe(topicOf(other, channel('news')));
    });
  });
}
