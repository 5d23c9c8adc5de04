import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FakeClock } from '../../src/channels/hub.fixture.ts';
import { ThreadsEngine } from '../../src/engines/threads/engine.ts';
import { runs } from '../../testing/long-run.ts';
import { FakeLinks } from '../contracts/fake-links.ts';
import { partsOfLoop } from '../contracts/loop-parts.ts';
import { LoopStage } from '../contracts/loop-stage.ts';
import { appWith, channel } from '../contracts/values.ts';

/**
 * Loops whose messages arrive at random times, beside a model that sees every connection. Messages of one loop to another keep
 * their order, as those of a port do; nothing else is promised.
 */

const LOOPS = 3;
const ROOMS = ['presence-a', 'presence-b', 'presence-c', 'presence-d'];
const app = appWith({ presenceMembers: 4 });

const step = fc.oneof(
  fc.record({
    kind: fc.constantFrom('joins', 'joins', 'leaves', 'publishes'),
    loop: fc.nat(LOOPS - 1),
    room: fc.constantFrom(...ROOMS),
    user: fc.constantFrom('ann', 'bob', 'eve', 'dan', 'fay'),
  }),
  fc.record({ from: fc.nat(LOOPS - 1), to: fc.nat(LOOPS - 1), messages: fc.nat(4) }),
);

function stage() {
  const clock = new FakeClock();
  const links = new FakeLinks();
  const loops = Array.from({ length: LOOPS }, (_, number) => {
    const { audience, terminated, ...parts } = partsOfLoop(clock, []);
    const authority = new ThreadsEngine({
      loop: number,
      loops: LOOPS,
      apps: { byId: () => app, byKey: () => app },
      timers: clock,
      monotonic: clock,
      ...parts,
      others: links.of(number),
    });
    links.open(number, authority);
    return new LoopStage({ number, authority, audience, terminated });
  });
  const deliver = (from: number, to: number, count: number) => links.deliver(from, to, count);
  /** Delivers everything, until no loop has anything to send. */
  const drain = async () => {
    for (let isQuiet = false; !isQuiet; ) {
      isQuiet = true;
      for (let from = 0; from < LOOPS; from++) {
        for (let to = 0; to < LOOPS; to++) if (deliver(from, to, 1000)) isQuiet = false;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { loops, deliver, drain };
}

describe('loops whose messages to each other are late', () => {
  it('agree with a model in the end, and have received the same of each channel in the same order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 150, size: 'max' }), async (steps) => {
        const { loops, deliver, drain } = stage();
        // One connection of each loop stays in each room, and receives everything.
        for (const room of ROOMS) {
          const joined = loops.map((loop) => loop.join(app, room, 'listener'));
          await drain();
          expect(await Promise.all(joined)).not.toContain('full');
        }
        for (const loop of loops) for (const room of ROOMS) loop.received(app, room);

        /** Those who are in, or still waiting for an answer. */
        const inside: { loop: number; room: string; user: string; isIn: Promise<boolean> }[] = [];
        let published = 0;
        for (const one of steps) {
          if (!('kind' in one)) {
            deliver(one.from, one.to, one.messages);
            await Promise.resolve();
            continue;
          }
          const { kind, loop: number, room, user } = one;
          const loop = loops[number];
          if (loop === undefined) continue;
          if (kind === 'publishes') {
            published++;
            void loop.publish(app, room, `event-${published}`);
          } else if (kind === 'joins') {
            const isIn = loop.join(app, room, user).then((found) => found !== 'full');
            inside.push({ loop: number, room, user, isIn });
          } else {
            const at = inside.findIndex(
              (other) => other.loop === number && other.room === room && other.user === user,
            );
            const leaving = at < 0 ? undefined : inside[at];
            // A connection that is still joining cannot leave.
            if (leaving === undefined || !(await isSettledTrue(leaving.isIn))) continue;
            inside.splice(at, 1);
            void loop.leave(app, room, user);
          }
        }
        await drain();

        let receivedEvents = 0;
        for (const room of ROOMS) {
          const members = new Set(['listener']);
          let subscriptions = LOOPS;
          for (const one of inside) {
            if (one.room !== room || !(await one.isIn)) continue;
            members.add(one.user);
            subscriptions++;
          }
          const counts = { subscriptions, users: members.size };
          for (const loop of loops) {
            const asked = [
              Promise.resolve(loop.authority.counts(app, channel(room))),
              Promise.resolve(loop.authority.members(app, channel(room))),
            ] as const;
            await drain();
            expect(await asked[0]).toEqual(counts);
            expect(new Set((await asked[1]).map(({ userId }) => userId))).toEqual(members);
          }
          const [first = [], ...others] = loops.map((loop) => loop.received(app, room));
          for (const received of others) expect(received).toEqual(first);
          // The reported changes lead to the present members, and each changed something.
          const online = new Set(['listener']);
          for (const event of first) {
            const [name, user = ''] = event.split(' ');
            if (name === 'member_added') {
              expect(online.has(user)).toBe(false);
              online.add(user);
            } else if (name === 'member_removed') {
              expect(online.delete(user)).toBe(true);
            } else {
              receivedEvents++;
            }
          }
          expect(online).toEqual(members);
        }
        expect(receivedEvents).toBe(published);
      }),
      { numRuns: runs(100, 5000) },
    );
  }, 120_000);
});

async function isSettledTrue(promise: Promise<boolean>): Promise<boolean> {
  return await Promise.race([promise, Promise.resolve().then(() => Promise.resolve(false))]);
}
