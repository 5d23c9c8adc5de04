import { expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import type { LiveResult } from '../model/live.ts';
import { newPublishId } from '../model/publish-id.ts';
import { type LivePublish, LiveStage } from './live-stage.ts';

const NOW_MS = Date.UTC(2026, 10, 24);

/** `fails`: how often the store does before it works. */
function scene({ fails = 0 } = {}) {
  const time = new FakeTime();
  let left = fails;
  const asked: { publish: LivePublish; answer: (result: LiveResult | Error) => void }[] = [];
  const stored: { instance: number; result: LiveResult }[] = [];
  const happened: string[] = [];
  const stage = new LiveStage({
    ask(publish) {
      const { promise, resolve, reject } = Promise.withResolvers<LiveResult>();
      const answer = (result: LiveResult | Error) =>
        result instanceof Error ? reject(result) : resolve(result);
      asked.push({ publish, answer });
      return promise;
    },
    store: {
      async settleLive({ instance, result }) {
        if (left-- > 0) throw new Error('the store is away');
        stored.push({ instance, result });
      },
    },
    now: () => NOW_MS,
    timers: time,
    settled: () => happened.push('settled'),
    counted: (result, users) =>
      happened.push(`${'skipped' in result ? 'skipped' : 'asked'} ${users}`),
    failed: () => happened.push('failed'),
  });
  const add = (instance: number, users = 1) =>
    stage.add({
      id: newPublishId(NOW_MS),
      instance,
      appId: '1',
      live: { event: 'e', data: '', channel: undefined, waitSeconds: 4, push: 'absent' },
      userIds: Array.from({ length: users }, (_, n) => `user-${n}`),
    });
  return { stage, asked, stored, happened, add, time };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

it('stores the result of each user, and then lets planning begin', async () => {
  const { stage, asked, stored, happened, add } = scene();
  add(1);
  expect(stage.size).toBe(1);
  asked[0]?.answer({ users: [] });
  await settle();
  expect(stored).toEqual([{ instance: 1, result: { users: [] } }]);
  expect(happened).toEqual(['asked 1', 'settled']);
  expect(stage.size).toBe(0);
});

it('skips the ask if the loop does not answer', async () => {
  const { asked, stored, add } = scene();
  add(1);
  asked[0]?.answer(new Error('the loop is stuck'));
  await settle();
  expect(stored).toEqual([{ instance: 1, result: { skipped: 'no-result' } }]);
});

it('stores what users have answered once the store works again', async () => {
  const { stage, asked, stored, happened, add, time } = scene({ fails: 2 });
  add(1);
  asked[0]?.answer({ users: [] });
  await settle();
  expect([happened, stage.size]).toEqual([['asked 1', 'failed'], 1]);
  // Before planning starts without it, 2 s after the deadline.
  await time.advance(1_500);
  expect(stored).toEqual([{ instance: 1, result: { users: [] } }]);
  expect(happened).toEqual(['asked 1', 'failed', 'failed', 'settled']);
  expect(stage.size).toBe(0);
});

it('leaves a result that cannot be stored for a minute to the deadline in the store', async () => {
  const { stage, asked, happened, add, time } = scene({ fails: Number.POSITIVE_INFINITY });
  add(1);
  asked[0]?.answer({ users: [] });
  await time.advance(61_000);
  expect(stage.size).toBe(1);
  await time.advance(1_000);
  expect(happened).toEqual(['asked 1', ...Array.from({ length: 8 }, () => 'failed')]);
  expect(stage.size).toBe(0);
});

it('gives up results that cannot be stored for publishes that come, and when it stops', async () => {
  const { stage, asked, happened, add, time } = scene({ fails: Number.POSITIVE_INFINITY });
  for (let n = 0; n < 100; n++) add(1, 1_000);
  for (const { answer } of asked) answer({ users: [] });
  await settle();
  add(2, 500);
  expect(stage.size).toBe(100);
  const failed = () => happened.filter((what) => what === 'failed').length;
  expect(failed()).toBe(100);
  await time.advance(500);
  expect(failed()).toBe(199);
  stage.stop();
  await time.advance(60_000);
  expect([failed(), stage.size]).toEqual([199, 1]);
});

it('does not try again to store that nobody was asked', async () => {
  const { stage, asked, happened, add, time } = scene({ fails: 1 });
  add(1);
  asked[0]?.answer({ skipped: 'no-result' });
  await time.advance(60_000);
  expect([happened, stage.size]).toEqual([['skipped 1', 'failed'], 0]);
});

it('is bounded by publishes and by users, and asks nobody beyond that', async () => {
  for (const [publishes, users] of [
    [10_000, 1],
    [100, 1_000],
  ] as const) {
    const { stage, stored, add } = scene();
    for (let n = 0; n < publishes; n++) add(1, users);
    expect([stage.size, stored.length]).toEqual([publishes, 0]);
    add(1);
    await settle();
    expect(stored).toEqual([{ instance: 1, result: { skipped: 'too-many' } }]);
  }
});

it('lets the instance with most users give up its newest publish for another one', async () => {
  const { stage, asked, stored, add } = scene();
  for (let n = 0; n < 100; n++) add(1, 1_000);
  add(2, 500);
  await settle();
  expect(stored).toEqual([{ instance: 1, result: { skipped: 'too-many' } }]);
  expect(stage.size).toBe(100);
  // Its answers change nothing any more.
  asked[99]?.answer({ users: [] });
  await settle();
  expect(stored).toHaveLength(1);
});
