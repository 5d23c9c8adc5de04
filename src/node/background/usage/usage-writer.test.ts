import { describe, expect, it } from 'bun:test';
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
    const writer = new UsageWriter({ store, log, storeState: () => true });
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
});
