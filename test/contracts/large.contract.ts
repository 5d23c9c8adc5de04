import { describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import type { Entered } from '../../src/channels/ports.ts';
import type { OpenCluster } from './authority.contract.ts';
import type { LoopStage } from './loop-stage.ts';
import { settingsChange } from './setting-change.ts';
import { appWith, channel, presenceRules } from './values.ts';

const EVENTS = ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'] as const;

const app: App = {
  ...appWith({ presenceMembers: 3 }),
  presence: presenceRules(
    { channels: 'presence-none-*', shown: 0, members: 0 },
    { channels: 'presence-named-*', shown: 2, named: 3, members: 0 },
    { channels: 'presence-few-*', shown: 2, members: 4 },
    { channels: 'presence-large-*', shown: 2, members: 0 },
  ),
  webhooks: [{ url: 'http://localhost/', events: EVENTS, batching: true }],
};

/** Channels with different homes, however many loops there are. */
const roomsOf = (kind: string) => Array.from({ length: 4 }, (_, n) => `presence-${kind}-${n}`);

/** What the core expects of any authority about large presence channels. */
export function largeContract(
  name: string,
  open: (apps: readonly App[]) => Promise<OpenCluster>,
): void {
  const stage = async () => {
    const cluster = await open([app]);
    const at = (n: number): LoopStage => {
      const loop = cluster.loops[n % cluster.loops.length];
      if (loop === undefined) throw new Error('There is no loop');
      return loop;
    };
    const goOn = async (ms: number) => {
      await cluster.advance(ms);
      await cluster.settled();
    };
    const enters = async (n: number, room: string, user: string, info?: string) => {
      const found = (await at(n).join(app, room, user, info)) as Entered;
      return [found.members.map(({ userId }) => userId), found.users];
    };
    return Object.assign(cluster, { at, goOn, enters });
  };

  describe(`${name} keeps the contract of large channels`, () => {
    it('shows a reader the first members and the number of all, also if a reader came first', async () => {
      const { enters, at } = await stage();
      for (const room of roomsOf('large')) {
        const reads = async (n: number) => {
          const found = (await at(n).join(app, room)) as Entered;
          return [found.members.map(({ userId }) => userId), found.users];
        };
        expect(await reads(1)).toEqual([[], 0]);
        for (const user of ['ann', 'bob', 'eve']) await enters(0, room, user);
        for (const n of [0, 1, 2]) expect(await reads(n)).toEqual([['ann', 'bob'], 3]);
      }
    });

    it('shows a newcomer the first members, itself, and the number of all', async () => {
      const { enters, at } = await stage();
      for (const room of roomsOf('large')) {
        expect(await enters(0, room, 'ann', '{"n":1}')).toEqual([['ann'], 1]);
        expect(await enters(1, room, 'bob')).toEqual([['ann', 'bob'], 2]);
        expect(await enters(2, room, 'eve')).toEqual([['ann', 'bob', 'eve'], 3]);
        expect(await enters(0, room, 'dan')).toEqual([['ann', 'bob', 'dan'], 4]);
        // Another connection of somebody who is there.
        expect(await enters(1, room, 'ann', '{"n":2}')).toEqual([['ann', 'bob'], 4]);
        await at(1).leave(app, room, 'bob');
        expect(await enters(2, room, 'zoe')).toEqual([['ann', 'eve', 'zoe'], 4]);
        expect(await at(2).authority.member(app, channel(room), 'ann')).toEqual({
          userId: 'ann',
          userInfo: '{"n":1}',
        });
      }
      for (const room of roomsOf('none')) {
        expect(await enters(0, room, 'ann')).toEqual([['ann'], 1]);
        expect(await enters(1, room, 'bob')).toEqual([['bob'], 2]);
      }
    });

    it('sends the counts of subscriptions and users, and no changes of members', async () => {
      const { enters, at, goOn } = await stage();
      for (const room of roomsOf('large')) {
        await enters(0, room, 'ann');
        await enters(1, room, 'bob');
        await enters(1, room, 'bob');
        await goOn(0);
        expect(at(0).received(app, room)).toEqual([
          'count 1 of 1 users',
          'count 2 of 2 users',
          'count 3 of 2 users',
        ]);
        await at(1).leave(app, room, 'bob');
        await at(1).leave(app, room, 'bob');
        // The sixth of this second waits for its end.
        for (const user of ['eve', 'dan']) await enters(2, room, user);
        await goOn(0);
        expect(at(0).received(app, room)).toEqual(['count 2 of 2 users', 'count 1 of 1 users']);
        await goOn(1000);
        expect(at(0).received(app, room)).toEqual(['count 3 of 3 users']);
      }
    });

    it('names some of those who have come and gone once a second, if the rule says so', async () => {
      const { enters, at, goOn } = await stage();
      for (const room of roomsOf('named')) {
        await enters(0, room, 'watcher');
        // Whether it is named to itself depends on the engine.
        await goOn(2000);
        at(0).received(app, room);
        await enters(1, room, 'ann');
        await enters(1, room, 'bob', '{"n":1}');
        await goOn(1000);
        const batches = () =>
          at(0)
            .received(app, room)
            .filter((one) => !one.startsWith('count'));
        expect(batches()).toEqual(['members +ann +bob']);
        // Who has come and gone within the second is in none.
        await enters(1, room, 'eve');
        await at(1).leave(app, room, 'eve');
        await goOn(2000);
        expect(batches()).toEqual([]);
        await at(1).leave(app, room, 'bob');
        for (const user of ['c', 'd', 'e']) await enters(1, room, user);
        await goOn(1000);
        expect(batches()).toEqual(['members +c +d +e and 1']);
        await at(1).leave(app, room, 'c');
        await goOn(1000);
        expect(batches()).toEqual(['members -c']);
      }
    });

    it('reports to webhooks what happens in any channel', async () => {
      const cluster = await stage();
      const { enters, at, goOn } = cluster;
      const [room = ''] = roomsOf('large');
      for (const [n, user] of ['ann', 'bob', 'eve', 'dan'].entries()) await enters(n, room, user);
      for (const [n, user] of ['ann', 'bob', 'eve', 'dan'].entries()) {
        await at(n).leave(app, room, user);
      }
      await goOn(10_000);
      const events = cluster.reported().map(({ event }) => event.name);
      expect(events.filter((one) => one === 'member_added')).toHaveLength(4);
      expect(events.filter((one) => one === 'member_removed')).toHaveLength(4);
      expect(events.filter((one) => one.startsWith('channel'))).toEqual([
        'channel_occupied',
        'channel_vacated',
      ]);
    });

    it('is full when its own rule says so', async () => {
      const { at } = await stage();
      for (const room of roomsOf('few')) {
        for (const [n, user] of ['a', 'b', 'c', 'd'].entries()) await at(n).join(app, room, user);
        expect(await at(1).join(app, room, 'e')).toBe('full');
        expect(await at(2).join(app, room, 'a')).not.toBe('full');
      }
    });

    it('lists its first 1,000 members, and all of them in pages', async () => {
      const { at } = await stage();
      const [room = ''] = roomsOf('large');
      const users = Array.from({ length: 1010 }, (_, n) => `user-${n}`);
      for (const [n, user] of users.entries()) await at(n).join(app, room, user);
      const { authority } = at(1);
      const ids = (members: Entered['members']) => members.map(({ userId }) => userId);
      expect(ids(await authority.members(app, channel(room)))).toEqual(users.slice(0, 1000));
      const first = await authority.membersPage(app, channel(room), {
        after: undefined,
        limit: 600,
      });
      expect(ids(first.members)).toEqual(users.slice(0, 600));
      await at(3).leave(app, room, 'user-3');
      await at(700).leave(app, room, 'user-700');
      const rest = await authority.membersPage(app, channel(room), {
        after: first.next,
        limit: 1000,
      });
      expect(ids(rest.members)).toEqual(users.slice(600).filter((one) => one !== 'user-700'));
      expect(rest.next).toBeUndefined();
    });

    it('stays what it was when it became occupied, whatever the settings become', async () => {
      const { at, enters, goOn } = await stage();
      const [room = '', later = ''] = roomsOf('large');
      await enters(0, room, 'ann');
      using _none = settingsChange(app, { presence: [] });
      // Also a loop that had nobody there knows that it is large.
      for (const [n, user] of ['bob', 'eve'].entries()) {
        const count = n + 2;
        const shown = n === 0 ? ['ann', 'bob'] : ['ann', 'bob', 'eve'];
        expect(await enters(n + 1, room, user)).toEqual([shown, count]);
      }
      await at(1).leave(app, room, 'bob');
      expect(await enters(3, room, 'dan')).toEqual([['ann', 'eve', 'dan'], 3]);
      await goOn(1000);
      expect(at(0).received(app, room).at(-1)).toBe('count 3 of 3 users');
      await at(0).join(app, later, 'ann');
      using _back = settingsChange(app, {
        presence: presenceRules({ channels: 'presence-*', shown: 0 }),
      });
      expect(await enters(1, later, 'bob')).toEqual([['ann', 'bob'], undefined]);
      await goOn(0);
      expect(at(0).received(app, later)).toEqual(['member_added bob']);
      for (const [n, user] of ['ann', 'bob'].entries()) await at(n).leave(app, later, user);
      expect(await enters(2, later, 'ann')).toEqual([['ann'], 1]);
      expect(await enters(2, later, 'eve')).toEqual([['eve'], 2]);
    });
  });
}
