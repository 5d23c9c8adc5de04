import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FakeClock } from '../../src/channels/hub.fixture.ts';
import { ThreadsEngine } from '../../src/engines/threads/engine.ts';
import { runs } from '../../testing/long-run.ts';
import { FakeLinks } from './fake-links.ts';
import { partsOfLoop } from './loop-parts.ts';
import { LoopStage } from './loop-stage.ts';
import { appWithHistory, channel } from './values.ts';

/* What a loop may answer before the home of a channel has heard of it. */

const LOOPS = 4;
const app = appWithHistory([{ channels: 'kept-*' }]);

function stage() {
  const clock = new FakeClock();
  const links = new FakeLinks();
  const engines = Array.from({ length: LOOPS }, (_, loop) => {
    const { audience, terminated, ...parts } = partsOfLoop(clock, []);
    const authority = new ThreadsEngine({
      loop,
      loops: LOOPS,
      apps: { byId: () => app, byKey: () => app },
      timers: clock,
      monotonic: clock,
      ...parts,
      others: links.of(loop),
    });
    links.open(loop, authority);
    return { authority, loop: new LoopStage({ number: loop, authority, audience, terminated }) };
  });
  /** Delivers everything. */
  const drain = async () => {
    do {
      for (let from = 0; from < LOOPS; from++) {
        for (let to = 0; to < LOOPS; to++) links.deliver(from, to);
      }
      await new Promise((resolve) => setImmediate(resolve));
    } while (links.isBusy);
  };
  const settle = async <T>(promise: Promise<T>): Promise<T> => {
    while (!(await isSettled(promise))) await drain();
    return promise;
  };
  const homeOf = (text: string) =>
    engines.findIndex(({ authority }) => authority.isHomeOf(app, channel(text).text));
  return { clock, links, loops: engines.map(({ loop }) => loop), drain, settle, homeOf };
}

const never = new Promise<never>(() => undefined);

const isSettled = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise<false>((no) => setImmediate(no, false))]);

describe('a loop that answers before the home has an event', () => {
  it('keeps one order of the events of a backend that waits for each answer, over whichever loops it sends them', async () => {
    const rooms = ['room-1', 'room-2', 'kept-1'] as const;
    const step = fc.oneof(
      fc.record({ loop: fc.nat(LOOPS - 1), room: fc.constantFrom(...rooms) }),
      fc.record({ from: fc.nat(LOOPS - 1), to: fc.nat(LOOPS - 1), messages: fc.nat(3) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const { links, loops, drain, settle } = stage();
        for (const room of rooms) for (const loop of loops) await settle(loop.join(app, room));
        const published: Record<string, string[]> = { 'room-1': [], 'room-2': [], 'kept-1': [] };
        for (const [n, one] of steps.entries()) {
          if ('from' in one) {
            links.deliver(one.from, one.to, one.messages);
            continue;
          }
          const answered = loops[one.loop]?.publish(app, one.room, `event-${n}`);
          published[one.room]?.push(`event-${n}`);
          if (answered !== undefined && !(await isSettled(answered))) await settle(answered);
        }
        await drain();
        for (const room of rooms) {
          for (const loop of loops) expect(loop.received(app, room)).toEqual(published[room] ?? []);
        }
      }),
      { numRuns: runs(60, 5000) },
    );
  });

  it('waits for the home of an event that another one of the same request must not overtake', async () => {
    const { loops, settle, homeOf } = stage();
    const other = loops[(homeOf('room-1') + 1) % LOOPS];
    const publish = (isFollowed: boolean) =>
      Promise.resolve(
        other?.authority.publish({
          app,
          channel: channel('room-1').text,
          makeFrame: () => '{}',
          remember: undefined,
          isFollowed,
        }),
      );
    expect(await isSettled(publish(false))).toBe(true);
    const followed = publish(true);
    expect(await isSettled(followed)).toBe(false);
    await settle(followed);
  });

  it('sends a newcomer on the home nothing that was answered before, but the cached event', async () => {
    const { loops, links, homeOf } = stage();
    const home = homeOf('cache-room');
    const [at, other] = [loops[home], loops[(home + 1) % LOOPS]];
    expect(await isSettled(other?.publish(app, 'cache-room', 'before') ?? never)).toBe(true);
    expect(links.isBusy).toBe(true);

    const entered = await at?.join(app, 'cache-room');

    expect(entered).toMatchObject({ cached: { name: 'before' } });
    expect(at?.receivedAfterEntry(app, 'cache-room')).toEqual([]);
  });

  it('waits for the home of a channel with a history, whose answer has the id', async () => {
    const { loops, settle, homeOf } = stage();
    const other = loops[(homeOf('kept-1') + 1) % LOOPS];
    const answered = other?.publish(app, 'kept-1', 'event') ?? never;
    expect(await isSettled(answered)).toBe(false);
    expect(await settle(answered)).toBeString();
  });

  it('waits for a home that does not serve the same apps', async () => {
    const { loops, links, settle, homeOf } = stage();
    const home = homeOf('room-1');
    links.apart.add(home);
    const answered = loops[(home + 1) % LOOPS]?.publish(app, 'room-1', 'event') ?? never;
    expect(await isSettled(answered)).toBe(false);
    await settle(answered);
  });

  it('answers no more events than the home can send soon', async () => {
    const { clock, loops, drain, homeOf } = stage();
    const other = loops[(homeOf('room-1') + 1) % LOOPS];
    const answers = Array.from({ length: 300 }, (_, n) => other?.publish(app, 'room-1', `${n}`));
    const answered = await Promise.all(answers.map((one) => isSettled(one ?? never)));
    expect(answered.filter((isAnswered) => isAnswered)).toHaveLength(256);

    await drain();
    clock.advance(2);
    await Promise.all(answers);
  });
});
