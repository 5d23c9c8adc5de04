import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { appWith, channelName } from '../../channels/hub.fixture.ts';
import type { Member } from '../../channels/ports.ts';
import { MemoryRoster } from './roster.ts';

const LIMIT = 3;
const app = (id: string) => {
  const whole = appWith({ id });
  return { ...whole, limits: { ...whole.limits, presenceMembers: LIMIT } };
};
const apps = [app('1'), app('2')];
const channels = ['x', 'private-x', 'presence-x', 'presence-y'].map(channelName);

/** One who comes or goes; `user` counts in presence channels only. */
const step = fc.record({
  coming: fc.boolean(),
  app: fc.constantFrom(...apps),
  channel: fc.constantFrom(...channels),
  user: fc.integer({ min: 1, max: 5 }).map(String),
  info: fc.constantFrom(undefined, '{"a":1}', '{"b":2}'),
});

describe('the roster in memory', () => {
  it('knows its members after any sequence of joins and leaves', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const roster = new MemoryRoster();
        // By app and channel: who is in, one entry per connection, in the order in which they came.
        const model = new Map<string, (Member | undefined)[]>();

        for (const { coming, app, channel, user, info } of steps) {
          const place = `${app.id} ${channel.text}`;
          const inside = model.get(place) ?? [];
          const users = new Set(inside.map((one) => one?.userId));
          const presence = channel.kind === 'presence';
          const member = presence ? { userId: user, userInfo: info } : undefined;
          const present = users.has(member?.userId);

          if (coming) {
            const transition = roster.join(app, channel, member);
            if (presence && !present && users.size >= LIMIT) {
              expect(transition).toBe('full');
              continue;
            }
            model.set(place, [...inside, member]);
            expect(transition).toMatchObject({
              occupied: inside.length === 0,
              memberAdded: presence && !present,
              vacated: false,
              memberRemoved: false,
            });
          } else if (present) {
            const at = inside.findIndex((one) => one?.userId === member?.userId);
            // The info of the first connection stands until the user is gone, whichever of them goes first.
            const last = inside.filter((one) => one?.userId === member?.userId).length === 1;
            const next = inside.toSpliced(
              last ? at : inside.findLastIndex((one) => one?.userId === member?.userId),
              1,
            );
            model.set(place, next);
            expect(roster.leave(app, channel, member)).toMatchObject({
              vacated: next.length === 0,
              memberRemoved: presence && last,
              occupied: false,
              memberAdded: false,
              counts: { subscriptions: next.length },
            });
          }
        }

        for (const one of apps) {
          const occupied = channels.filter(({ text }) => model.get(`${one.id} ${text}`)?.length);
          const page = roster.channels(one, { prefix: '', after: undefined }).page(100);
          expect(page.channels.map(([name]) => name).toSorted()).toEqual(
            occupied.map(({ text }) => text).toSorted(),
          );
          for (const channel of channels) {
            const inside = model.get(`${one.id} ${channel.text}`) ?? [];
            const first = new Map<string, Member>();
            for (const member of inside) {
              if (member !== undefined && !first.has(member.userId)) {
                first.set(member.userId, member);
              }
            }
            expect(roster.members(one, channel)).toEqual([...first.values()]);
            expect(roster.counts(one, channel)).toEqual({
              subscriptions: inside.length,
              users: first.size,
            });
          }
        }
      }),
    );
  });

  it('refuses a leave of a channel without subscriptions', () => {
    const roster = new MemoryRoster();

    expect(() => roster.leave(app('1'), channelName('x'), undefined)).toThrow(
      'no subscriptions to leave',
    );
  });

  it('follows the limit of an app when that is changed', () => {
    const roster = new MemoryRoster();
    const { limits } = app('1');
    const most = { ...limits };
    const live = { ...app('1'), limits: most };
    const join = (userId: string) =>
      roster.join(live, channelName('presence-x'), { userId, userInfo: undefined });
    for (const userId of ['1', '2', '3']) expect(join(userId)).not.toBe('full');
    expect(join('4')).toBe('full');

    Object.assign(most, { presenceMembers: 4 });
    expect(join('4')).not.toBe('full');
    // Fewer are allowed than are in: they stay, and no other user gets in.
    Object.assign(most, { presenceMembers: 1 });
    expect(join('5')).toBe('full');
    expect(join('2')).not.toBe('full');
  });
});
