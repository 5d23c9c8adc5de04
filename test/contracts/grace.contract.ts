import { describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import type { AppWebhookEvent } from '../../src/channels/lifecycle/webhook-event.ts';
import type { Entered } from '../../src/channels/ports.ts';
import type { OpenCluster } from './authority.contract.ts';
import type { LoopStage } from './loop-stage.ts';
import { appWith, channel, presenceRules } from './values.ts';

const EVENTS = ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'] as const;
const GRACE_MS = 10_000;

const app: App = {
  ...appWith({ presenceMembers: 3, memberChangesPerSecond: 0 }),
  presence: presenceRules(
    { channels: 'presence-none-*', graceSeconds: 0 },
    { channels: 'presence-short-*', graceSeconds: 1 },
    { channels: 'presence-*', graceSeconds: GRACE_MS / 1000 },
  ),
  webhooks: [{ url: 'http://localhost/', events: EVENTS, batching: true }],
};
const slow: App = { ...appWith({ memberChangesPerSecond: 1 }, 'slow'), presence: app.presence };

/** Channels with different homes, however many loops there are. */
const ROOMS = Array.from({ length: 6 }, (_, n) => `presence-room-${n}`);

/** What the core expects of any authority about members whose connections have ended. */
export function graceContract(
  name: string,
  open: (apps: readonly App[]) => Promise<OpenCluster>,
): void {
  const stage = async () => {
    const cluster = await open([app, slow]);
    const at = (n: number): LoopStage => {
      const loop = cluster.loops[n % cluster.loops.length];
      if (loop === undefined) throw new Error('There is no loop');
      return loop;
    };
    const goOn = async (ms: number) => {
      await cluster.advance(ms);
      await cluster.settled();
    };
    return Object.assign(cluster, { at, goOn });
  };
  const of = (events: readonly AppWebhookEvent[], room: string) =>
    events
      .filter(({ event }) => event.channel === room)
      .map(({ event }) => `${event.name} ${'user_id' in event ? event.user_id : ''}`.trim());

  describe(`${name} keeps the contract of grace`, () => {
    it('lets a member stay whose last connection has ended, for all who look', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        for (const user of ['ann', 'bob', 'eve']) await at(0).join(app, room, user);
        await at(0).lose(app, room, 'bob');
        const { authority } = at(1);
        const counts = { subscriptions: 3, users: 3 };
        expect(await authority.counts(app, channel(room))).toEqual(counts);
        const users = ['ann', 'bob', 'eve'];
        const members = await authority.members(app, channel(room));
        expect(members.map(({ userId }) => userId)).toEqual(users);
        // It is full, but not for those who stay.
        expect(await at(2).join(app, room, 'dan')).toBe('full');
        const found = (await at(2).join(app, room, 'bob')) as Entered;
        expect(found.members.map(({ userId }) => userId)).toEqual(users);
        expect(await authority.counts(app, channel(room))).toEqual(counts);
      }
    });

    it('keeps a channel occupied that only members hold who stay', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const [room = ''] = ROOMS;
      await at(0).join(app, room, 'ann');
      await at(0).lose(app, room, 'ann');
      const { authority } = at(1);
      expect(await authority.counts(app, channel(room))).toEqual({ subscriptions: 1, users: 1 });
      expect(await authority.channelCountOf(app)).toBe(1);
      await at(2).join(app, room, 'ann');
      await at(2).leave(app, room, 'ann');
      expect(await authority.channelCountOf(app)).toBe(0);
    });

    it('tells nobody of a member that is back in time, on any loop', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        await at(0).join(app, room, 'watcher');
        await at(1).join(app, room, 'ann', '{"n":1}');
        await cluster.settled();
        at(0).received(app, room);
      }
      cluster.reported();
      for (const [from, to] of [
        [1, 1],
        [1, 2],
        [2, 0],
      ] as const) {
        for (const room of ROOMS) await at(from).lose(app, room, 'ann');
        await cluster.goOn(GRACE_MS - 1000);
        for (const room of ROOMS) await at(to).join(app, room, 'ann', '{"n":1}');
        await cluster.goOn(GRACE_MS + 10_000);
      }
      for (const room of ROOMS) expect(at(0).received(app, room)).toEqual([]);
      expect(cluster.reported()).toEqual([]);
      for (const room of ROOMS) {
        const counts = await at(2).authority.counts(app, channel(room));
        expect(counts).toEqual({ subscriptions: 2, users: 2 });
      }
    });

    it('tells once of a member that is not back in time, others and webhooks within a second', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        await at(0).join(app, room, 'watcher');
        await at(1).join(app, room, 'ann');
      }
      await cluster.settled();
      for (const room of ROOMS) at(0).received(app, room);
      cluster.reported();
      for (const room of ROOMS) await at(1).lose(app, room, 'ann');
      await cluster.goOn(GRACE_MS - 1000);
      for (const room of ROOMS) expect(at(0).received(app, room)).toEqual([]);
      expect(cluster.reported()).toEqual([]);
      // Ends may fall together a little later.
      await cluster.goOn(2000);
      for (const room of ROOMS) expect(at(0).received(app, room)).toEqual(['member_removed ann']);
      const reported = cluster.reported();
      for (const room of ROOMS) expect(of(reported, room)).toEqual(['member_removed ann']);
      await cluster.goOn(20_000);
      for (const room of ROOMS) expect(at(0).received(app, room)).toEqual([]);
      expect(cluster.reported()).toEqual([]);
    });

    it('reports the end of a channel with that of its last member, and never before those of others', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        await at(0).join(app, room, 'ann');
        await at(1).join(app, room, 'bob');
      }
      await cluster.settled();
      cluster.reported();
      for (const room of ROOMS) await at(0).lose(app, room, 'ann');
      await cluster.goOn(GRACE_MS - 2000);
      for (const room of ROOMS) await at(1).leave(app, room, 'bob');
      // Each step has an answer before the next one: the nodes ask for their own departures at different times.
      for (let n = 0; n < 2; n++) await cluster.goOn(500);
      expect(cluster.reported()).toEqual([]);
      for (let n = 0; n < 10; n++) await cluster.goOn(500);
      const reported = cluster.reported();
      for (const room of ROOMS) {
        const ends = of(reported, room);
        expect(ends.toSorted()).toEqual([
          'channel_vacated',
          'member_removed ann',
          'member_removed bob',
        ]);
        expect(ends.at(-1)).toBe('channel_vacated');
      }
    });

    it('reports after 3 s what ends sooner, and not who is back by then', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const room = 'presence-short-1';
      await at(0).join(app, room, 'watcher');
      await at(1).join(app, room, 'ann');
      await cluster.settled();
      at(0).received(app, room);
      cluster.reported();
      await at(1).lose(app, room, 'ann');
      await cluster.goOn(1000);
      expect(at(0).received(app, room)).toEqual(['member_removed ann']);
      await cluster.goOn(1000);
      await at(2).join(app, room, 'ann');
      await cluster.goOn(10_000);
      expect(cluster.reported()).toEqual([]);
      await at(2).lose(app, room, 'ann');
      await at(0).lose(app, room, 'watcher');
      await cluster.goOn(2000);
      expect(cluster.reported()).toEqual([]);
      await cluster.goOn(2000);
      const ends = of(cluster.reported(), room);
      expect(ends.slice(0, 2).toSorted()).toEqual(['member_removed ann', 'member_removed watcher']);
      expect(ends.slice(2)).toEqual(['channel_vacated']);
    });

    it('shows the new info of a member that is back with another one, and reports nothing', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        await at(0).join(app, room, 'watcher');
        await at(1).join(app, room, 'ann', '{"n":1}');
      }
      await cluster.settled();
      for (const room of ROOMS) at(0).received(app, room);
      cluster.reported();
      for (const room of ROOMS) {
        await at(1).lose(app, room, 'ann');
        const { members } = (await at(2).join(app, room, 'ann', '{"n":2}')) as Entered;
        expect(members.map(({ userId }) => userId).sort()).toEqual(['ann', 'watcher']);
        expect(members).toContainEqual({ userId: 'ann', userInfo: '{"n":2}' });
      }
      await cluster.goOn(20_000);
      for (const room of ROOMS) {
        expect(at(0).received(app, room)).toEqual(['member_removed ann', 'member_added ann']);
        const members = await at(0).authority.members(app, channel(room));
        expect(members).toContainEqual({ userId: 'ann', userInfo: '{"n":2}' });
      }
      expect(cluster.reported()).toEqual([]);
    });

    it('shows a new info later if the user has changed too often in this second', async () => {
      const cluster = await stage();
      const { at } = cluster;
      const [room = ''] = ROOMS;
      await at(0).join(slow, room, 'watcher');
      await at(1).join(slow, room, 'ann', '{"n":1}');
      await cluster.settled();
      at(0).received(slow, room);
      await at(1).lose(slow, room, 'ann');
      await at(2).join(slow, room, 'ann', '{"n":2}');
      await cluster.settled();
      expect(at(0).received(slow, room)).toEqual([]);
      await cluster.goOn(1000);
      expect(at(0).received(slow, room)).toEqual(['member_removed ann', 'member_added ann']);
    });

    it('lets nobody stay who has left on purpose, or is in a channel without grace', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ['presence-room-1', 'presence-none-1']) {
        await at(0).join(app, room, 'watcher');
        await at(1).join(app, room, 'ann');
        await cluster.settled();
        at(0).received(app, room);
      }
      cluster.reported();
      await at(1).leave(app, 'presence-room-1', 'ann');
      await at(1).lose(app, 'presence-none-1', 'ann');
      await cluster.settled();
      for (const room of ['presence-room-1', 'presence-none-1']) {
        expect(at(0).received(app, room)).toEqual(['member_removed ann']);
      }
      await cluster.goOn(3000);
      expect(cluster.reported().map(({ event }) => event.name)).toEqual([
        'member_removed',
        'member_removed',
      ]);
    });

    it('begins with the last connection of a member, however the others have ended', async () => {
      const cluster = await stage();
      const { at } = cluster;
      for (const room of ROOMS) {
        await at(0).join(app, room, 'watcher');
        for (const n of [1, 2]) await at(n).join(app, room, 'ann');
        await cluster.settled();
        at(0).received(app, room);
        await at(1).lose(app, room, 'ann');
        await at(2).leave(app, room, 'ann');
        await cluster.settled();
        expect(at(0).received(app, room)).toEqual(['member_removed ann']);
        for (const n of [1, 2]) await at(n).join(app, room, 'ann');
        await cluster.settled();
        at(0).received(app, room);
        await at(1).leave(app, room, 'ann');
        await at(2).lose(app, room, 'ann');
        await cluster.settled();
        expect(at(0).received(app, room)).toEqual([]);
      }
      await cluster.goOn(GRACE_MS + 1000);
      for (const room of ROOMS) expect(at(0).received(app, room)).toEqual(['member_removed ann']);
    });
  });
}
