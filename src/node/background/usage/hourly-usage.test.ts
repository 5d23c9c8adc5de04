import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../../testing/fake-time.ts';
import type { HourSamples, HourSum } from '../../../stores/tenants/hour-usage-store.ts';
import { keptLog } from '../../../webhooks/webhooks.fixture.ts';
import { HOURS_KEPT, HourlyUsage } from './hourly-usage.ts';

const HOUR_MS = 3_600_000;
/** Half past two. */
const NOW_MS = Date.parse('2026-11-24T02:30:00Z');
const HOUR = Math.floor(NOW_MS / HOUR_MS);

function scene() {
  const time = new FakeTime({ nowMs: NOW_MS });
  const written: HourSum[] = [];
  const samples: HourSamples[] = [];
  const state = {
    open: new Map<string, number>(),
    isAway: false,
    isFull: false,
    forgotten: 0,
    disk: Promise.resolve(),
  };
  const store = {
    async add(sums: readonly HourSum[], isWritten: (piece: readonly HourSum[]) => void) {
      await state.disk;
      if (state.isFull) throw new Error('disk full');
      written.push(...sums);
      isWritten(sums);
    },
    async addSamples(counts: readonly HourSamples[]) {
      if (state.isFull) throw new Error('disk full');
      samples.push(...counts);
    },
    ofApp: async (appId: string, since: number) => ({
      sums: written.filter((sum) => sum.appId === appId && sum.hour >= since),
      samples: samples.filter(({ hour }) => hour >= since),
    }),
    async forgetSomeBefore(hour: number) {
      state.forgotten = hour;
      return false;
    },
  };
  const log = keptLog();
  const usage = new HourlyUsage({
    store,
    timers: time,
    monotonic: time.monotonic,
    log,
    async countConnections() {
      if (state.isAway) throw new Error('The realtime loop did not answer');
      return state.open;
    },
  });
  return { time, state, written, samples, log, usage };
}

const used = (day: string, messages: number, clientMessages = 0) => ({
  appId: 'a',
  day,
  messages,
  clientMessages,
});

describe('the usage of an hour', () => {
  it('has the messages of the hour, and the most, the fewest and the average of connections', async () => {
    const { time, state, usage } = scene();
    state.open.set('a', 10);
    usage.start();
    usage.keep([used('2026-11-24', 7, 2)]);
    await time.advance(10_000);
    state.open.set('a', 40);
    await time.advance(10_000);
    expect(await usage.ofApp('a', 1)).toEqual([
      {
        startMs: HOUR * HOUR_MS,
        messages: 7,
        clientMessages: 2,
        connections: { most: 40, fewest: 10, average: 20 },
      },
    ]);
  });

  it('counts a time without connections as 0, also in an app that had none at all', async () => {
    const { time, state, usage } = scene();
    usage.start();
    await time.advance(10_000);
    state.open.set('a', 4);
    await time.advance(20_000);
    const [own] = await usage.ofApp('a', 1);
    expect(own?.connections).toEqual({ most: 4, fewest: 0, average: 2 });
    const [other] = await usage.ofApp('b', 1);
    expect(other).toMatchObject({ messages: 0, connections: { most: 0, fewest: 0, average: 0 } });
  });

  it('is unknown where loops did not answer, and left out where no server was running', async () => {
    const { state, usage } = scene();
    state.isAway = true;
    usage.start();
    expect(await usage.ofApp('a', 24)).toEqual([]);
    usage.keep([used('2026-11-24', 1)]);
    expect(await usage.ofApp('a', 24)).toMatchObject([{ messages: 1, connections: undefined }]);
  });

  it('belongs to the last hour of yesterday if the messages are of yesterday', async () => {
    const { usage } = scene();
    usage.keep([used('2026-11-23', 3), used('2026-11-24', 5)]);
    expect(
      (await usage.ofApp('a', 24)).map(({ startMs, messages }) => [startMs, messages]),
    ).toEqual([
      [HOUR * HOUR_MS, 5],
      [Date.parse('2026-11-23T23:00:00Z'), 3],
    ]);
  });

  it('is written each minute and at the end, once', async () => {
    const { time, state, written, samples, usage } = scene();
    state.open.set('a', 1);
    usage.start();
    usage.keep([used('2026-11-24', 5)]);
    await time.advance(59_000);
    expect(written).toEqual([]);
    await time.advance(1_000);
    expect(written).toMatchObject([{ appId: 'a', hour: HOUR, messages: 5, most: 1 }]);
    usage.keep([used('2026-11-24', 2)]);
    await usage[Symbol.asyncDispose]();
    expect(written.map(({ messages }) => messages)).toEqual([5, 2]);
    const counted = samples.reduce((sum, one) => sum + one.samples, 0);
    expect(counted).toBe(7);
    await time.advance(HOUR_MS);
    expect(written).toHaveLength(2);
  });

  it('is whole also while it is being written', async () => {
    const { time, state, usage } = scene();
    const disk = Promise.withResolvers<void>();
    state.disk = disk.promise;
    usage.start();
    usage.keep([used('2026-11-24', 5)]);
    await time.advance(60_000);
    const asked = usage.ofApp('a', 1);
    disk.resolve();
    expect(await asked).toMatchObject([{ messages: 5 }]);
  });

  it('waits while the store cannot be written, and logs that once', async () => {
    const { time, state, written, samples, log, usage } = scene();
    state.isFull = true;
    usage.start();
    usage.keep([used('2026-11-24', 5)]);
    await time.advance(60_000);
    usage.keep([used('2026-11-24', 2)]);
    await time.advance(60_000);
    expect(log.lines).toEqual(['warn Usage by the hour cannot be written yet {"why":"disk full"}']);
    state.isFull = false;
    await time.advance(60_000);
    expect(written).toMatchObject([{ messages: 7 }]);
    expect(samples).toMatchObject([{ hour: HOUR, samples: 18 }]);
  });

  it('is forgotten after two weeks', async () => {
    const { time, state, usage } = scene();
    usage.start();
    await time.advance(60_000);
    expect(state.forgotten).toBe(HOUR - HOURS_KEPT);
    await time.advance(HOUR_MS);
    expect(state.forgotten).toBe(HOUR + 1 - HOURS_KEPT);
    // A wrong date does not make everything old.
    time.setClock(30 * 24 * HOUR_MS);
    await time.advance(60_000);
    expect(state.forgotten).toBe(HOUR + 1 - HOURS_KEPT);
    await usage[Symbol.asyncDispose]();
  });
});
