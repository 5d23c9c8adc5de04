import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../../testing/fake-time.ts';
import type { DayUsage } from '../../../channels/usage/usage.ts';
import { UsageWriter } from './usage-writer.ts';

const used = (messages: number, clientMessages = 0): DayUsage => ({
  appId: 'a',
  day: '2026-01-01',
  messages,
  clientMessages,
});
const nothing = () => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

describe('UsageWriter', () => {
  it('writes usage that came during a write right after it, even if no more comes', async () => {
    const added: (readonly DayUsage[])[] = [];
    const writes = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const second = Promise.withResolvers<void>();
    const store = {
      ofDay: async () => [],
      async add(usage: readonly DayUsage[]) {
        added.push(usage);
        if (added.length === 2) second.resolve();
        await writes[added.length - 1]?.promise;
      },
    };
    const writer = new UsageWriter({ store, timers: new FakeTime(), log, storeState: () => true });
    writer.keep([used(1)]);
    writer.keep([used(2)]);
    writer.keep([used(4)]);
    expect(added).toEqual([[used(1)]]);
    writes[0]?.resolve();
    await second.promise;
    expect(added).toEqual([[used(1)], [used(6)]]);
    writes[1]?.resolve();
    await writer[Symbol.asyncDispose]();
    expect(added).toHaveLength(2);
  });

  it('tries again a second after a failure, however much comes in between, and once more at the end', async () => {
    const time = new FakeTime();
    const written: number[] = [];
    let tries = 0;
    let isFull = true;
    const store = {
      ofDay: async () => [],
      async add([usage]: readonly DayUsage[]) {
        tries++;
        if (isFull) throw new Error('The disk is full');
        written.push(usage?.messages ?? 0);
      },
    };
    const writer = new UsageWriter({ store, timers: time, log, storeState: () => false });
    writer.keep([used(1)]);
    await time.advance(10);
    for (const messages of [2, 4]) writer.keep([used(messages)]);
    await time.advance(980);
    expect(tries).toBe(1);
    await time.advance(1_000);
    expect(tries).toBe(2);
    isFull = false;
    await time.advance(1_000);
    writer.keep([used(8)]);
    await time.advance(0);
    expect(written).toEqual([7, 8]);
    isFull = true;
    writer.keep([used(16)]);
    await time.advance(0);
    isFull = false;
    await writer[Symbol.asyncDispose]();
    expect(written).toEqual([7, 8, 16]);
  });
});
