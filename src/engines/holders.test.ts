import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { appWith, channelName } from '../channels/hub.fixture.ts';
import type { Member } from '../channels/ports.ts';
import { Holders } from './holders.ts';

const LIMIT = 3;
const appOf = (id: string) => {
  const whole = appWith({ id });
  return { ...whole, limits: { ...whole.limits, presenceMembers: LIMIT } };
};
const apps = [appOf('1'), appOf('2')];
const channels = ['x', 'private-x', 'presence-x', 'presence-y'].map(channelName);

/** A connection comes, goes, or its loop states again what it holds; `user` counts in presence channels only. */
const step = fc.record({
  kind: fc.constantFrom('comes', 'comes', 'goes', 'repeats'),
  loop: fc.integer({ min: 0, max: 3 }),
  app: fc.constantFrom(...apps),
  channel: fc.constantFrom(...channels),
  user: fc.integer({ min: 1, max: 5 }).map(String),
  info: fc.constantFrom(undefined, '{"a":1}', '{"b":2}'),
});

/** One connection in a channel. */
interface Subscriber {
  readonly loop: number;
  readonly userId: string | undefined;
}

/** What a loop states of a channel that holds these. */
function statementOf(inside: readonly Subscriber[], loop: number) {
  return inside.filter((one) => one.loop === loop);
}

describe('holders', () => {
  it('decide as if they had seen every connection, whatever loops state, also twice', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        const holders = new Holders();
        // By app and channel: the connections that are in, and the members in the order in which they came.
        const inside = new Map<string, Subscriber[]>();
        const members = new Map<string, Map<string, Member>>();

        for (const { kind, loop, app, channel, user, info } of steps) {
          const place = `${app.id} ${channel.text}`;
          const before = inside.get(place) ?? [];
          const users = members.get(place) ?? new Map<string, Member>();
          members.set(place, users);
          const isPresence = channel.kind === 'presence';
          const userId = isPresence ? user : undefined;
          const member = isPresence ? { userId: user, userInfo: info } : undefined;
          const here = statementOf(before, loop);
          const text = channel.text;

          if (kind === 'comes') {
            const transition = holders.join(app, loop, {
              channel: text,
              held: here.length + 1,
              member,
            });
            if (isPresence && !users.has(user) && users.size >= LIMIT) {
              expect(transition).toBe('full');
              continue;
            }
            const isNew = member !== undefined && !users.has(user);
            if (isNew) users.set(user, member);
            inside.set(place, [...before, { loop, userId }]);
            expect(transition).toEqual({
              occupied: before.length === 0,
              vacated: false,
              memberAdded: isNew,
              memberRemoved: false,
              counts: { subscriptions: before.length + 1, users: users.size },
            });
          } else if (kind === 'goes') {
            const at = before.findIndex((one) => one.loop === loop && one.userId === userId);
            if (at < 0) continue;
            const after = before.toSpliced(at, 1);
            inside.set(place, after);
            const isLastHere = !statementOf(after, loop).some((one) => one.userId === userId);
            const isGone = isPresence && !after.some((one) => one.userId === userId);
            if (isGone) users.delete(user);
            const exit = {
              channel: text,
              held: here.length - 1,
              userId: isLastHere ? userId : undefined,
            };
            expect(holders.leave(app, loop, exit)).toEqual({
              occupied: false,
              vacated: after.length === 0,
              memberAdded: false,
              memberRemoved: isGone,
              counts: { subscriptions: after.length, users: users.size },
            });
          } else {
            const isHere = here.some((one) => one.userId === userId);
            const repeated =
              isHere && here.length > 0
                ? holders.join(app, loop, { channel: text, held: here.length, member })
                : holders.leave(app, loop, { channel: text, held: here.length, userId });
            const wasEmpty = before.length === 0;
            expect(repeated).toEqual({
              occupied: false,
              vacated: false,
              memberAdded: false,
              memberRemoved: false,
              counts: wasEmpty
                ? { subscriptions: 0, users: 0 }
                : { subscriptions: before.length, users: users.size },
            });
          }

          const loops = new Set<number>();
          holders.loopsOf(app, text)?.forEachLoop((one) => loops.add(one));
          expect(loops).toEqual(new Set((inside.get(place) ?? []).map((one) => one.loop)));
        }

        for (const app of apps) {
          const occupied = channels.filter(({ text }) => inside.get(`${app.id} ${text}`)?.length);
          const page = holders.channels(app, { prefix: '', after: undefined }).page(100);
          expect(page.channels.map(([name]) => name).toSorted()).toEqual(
            occupied.map(({ text }) => text).toSorted(),
          );
          expect(holders.channelCountOf(app)).toBe(occupied.length);
          for (const { text } of channels) {
            const users = members.get(`${app.id} ${text}`);
            expect(holders.members(app, text)).toEqual([...(users?.values() ?? [])]);
            expect(holders.counts(app, text)).toEqual({
              subscriptions: inside.get(`${app.id} ${text}`)?.length ?? 0,
              users: users?.size ?? 0,
            });
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('follow the limit of an app when that is changed', () => {
    const holders = new Holders();
    const { limits } = appOf('1');
    const most = { ...limits };
    const live = { ...appOf('1'), limits: most };
    let held = 0;
    const join = (userId: string) => {
      const member = { userId, userInfo: undefined };
      const channel = channelName('presence-x').text;
      const joined = holders.join(live, 0, { channel, held: held + 1, member });
      if (joined !== 'full') held++;
      return joined;
    };
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
