import { describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import type { ChannelText } from '../../src/channels/channel-name.ts';
import type { ChannelCounts, ChannelWalk, Member, Roster } from '../../src/channels/ports.ts';
import { appWith, channel } from './values.ts';

const ann: Member = { userId: 'ann', userInfo: '{"name":"Ann"}' };
const bob: Member = { userId: 'bob', userInfo: undefined };

/** Every channel that a walk still comes to. */
async function restOf(walk: ChannelWalk) {
  const all: (readonly [ChannelText, ChannelCounts])[] = [];
  for (let more = true; more; ) {
    const page = await walk.page(10);
    all.push(...page.channels);
    more = page.next !== undefined;
  }
  return all;
}

/** Every channel of an app whose name starts with `prefix`, from one page on. */
async function allChannels(roster: Roster, app: App, prefix = '', from?: string) {
  return await restOf(roster.channels(app, { prefix, after: from }));
}

/** What the core expects of any roster. `open` gives an empty one. */
export function rosterContract(name: string, open: () => Promise<Roster>): void {
  describe(`${name} keeps the roster contract`, () => {
    const app = appWith({ presenceMembers: 2 });
    const room = channel('presence-room');
    const news = channel('news');

    it('reports a channel as occupied with its first subscription only', async () => {
      const roster = await open();
      const unchanged = { vacated: false, memberAdded: false, memberRemoved: false };
      expect(await roster.join(app, news, undefined)).toEqual({
        ...unchanged,
        occupied: true,
        counts: { subscriptions: 1, users: 0 },
      });
      expect(await roster.join(app, news, undefined)).toEqual({
        ...unchanged,
        occupied: false,
        counts: { subscriptions: 2, users: 0 },
      });
    });

    it('reports a channel as vacated with its last subscription only', async () => {
      const roster = await open();
      await roster.join(app, news, undefined);
      await roster.join(app, news, undefined);
      expect(await roster.leave(app, news, undefined)).toMatchObject({ vacated: false });
      expect(await roster.leave(app, news, undefined)).toEqual({
        occupied: false,
        vacated: true,
        memberAdded: false,
        memberRemoved: false,
        counts: { subscriptions: 0, users: 0 },
      });
      expect(await allChannels(roster, app)).toEqual([]);
    });

    it('adds a user with their first connection and removes them with the last', async () => {
      const roster = await open();
      expect(await roster.join(app, room, ann)).toMatchObject({ memberAdded: true });
      expect(await roster.join(app, room, ann)).toMatchObject({
        memberAdded: false,
        counts: { subscriptions: 2, users: 1 },
      });
      expect(await roster.leave(app, room, ann)).toMatchObject({ memberRemoved: false });
      expect(await roster.leave(app, room, ann)).toMatchObject({
        memberRemoved: true,
        vacated: true,
      });
    });

    it("keeps the info of a user's first connection until the user is gone", async () => {
      const roster = await open();
      const annAgain = { userId: 'ann', userInfo: '{"name":"Other"}' };
      await roster.join(app, room, ann);
      await roster.join(app, room, annAgain);
      await roster.leave(app, room, ann);
      expect(await roster.members(app, room)).toEqual([ann]);
      await roster.leave(app, room, annAgain);
      await roster.join(app, room, annAgain);
      expect(await roster.members(app, room)).toEqual([annAgain]);
    });

    it('returns the members in the order of joining', async () => {
      const roster = await open();
      await roster.join(app, room, bob);
      await roster.join(app, room, ann);
      expect(await roster.members(app, room)).toEqual([bob, ann]);
    });

    it('refuses a user beyond the limit without a trace, but not one who is in already', async () => {
      const roster = await open();
      await roster.join(app, room, ann);
      await roster.join(app, room, bob);
      expect(await roster.join(app, room, { userId: 'eve', userInfo: undefined })).toBe('full');
      expect(await roster.counts(app, room)).toEqual({ subscriptions: 2, users: 2 });
      expect(await roster.join(app, room, bob)).toMatchObject({ memberAdded: false });
    });

    it('has no limit if it is 0', async () => {
      const roster = await open();
      const open0 = appWith({ presenceMembers: 0 });
      for (let n = 0; n < 150; n++) {
        expect(await roster.join(open0, room, { userId: `u${n}`, userInfo: undefined })).not.toBe(
          'full',
        );
      }
    });

    it('does not occupy a channel for a refused user', async () => {
      const roster = await open();
      const one = appWith({ presenceMembers: 1 }, 'one');
      await roster.join(one, room, ann);
      expect(await roster.join(one, room, bob)).toBe('full');
      await roster.leave(one, room, ann);
      expect(await allChannels(roster, one)).toEqual([]);
    });

    it('lists the occupied channels of one app whose names start with a prefix', async () => {
      const roster = await open();
      const other = appWith({}, 'other');
      await roster.join(app, room, ann);
      await roster.join(app, news, undefined);
      await roster.join(other, channel('presence-other'), bob);
      expect(await allChannels(roster, app, 'presence-')).toEqual([
        [room.text, { subscriptions: 1, users: 1 }],
      ]);
      const names = (await allChannels(roster, app)).map(([name]) => name);
      expect(names.sort()).toEqual([news.text, room.text]);
    });

    it('lists many channels page by page, each one that stays exactly once', async () => {
      const roster = await open();
      const names = Array.from({ length: 25 }, (_, n) => `many-${n}`);
      for (const name of names) await roster.join(app, channel(name), undefined);
      const walk = roster.channels(app, { prefix: '', after: undefined });
      const first = await walk.page(10);
      expect(first.channels).toHaveLength(10);
      // Some come and go between two pages, also the one at which the first page ended.
      const gone = first.channels.at(-1)?.[0] ?? '';
      await roster.leave(app, channel(gone), undefined);
      await roster.join(app, channel('late'), undefined);
      const rest = await restOf(walk);
      const listed = [...first.channels, ...rest].map(([name]) => String(name));
      expect(listed.filter((name) => name !== 'late').sort()).toEqual(names.sort());
      // Another walk can go on there as well.
      expect(await allChannels(roster, app, '', first.next)).toEqual(rest);
    });

    it('counts 0 in a channel without subscriptions', async () => {
      const roster = await open();
      expect(await roster.counts(app, room)).toEqual({ subscriptions: 0, users: 0 });
      expect(await roster.members(app, room)).toEqual([]);
    });
  });
}
