import { describe, expect, it } from 'bun:test';
import { appWith } from '../channels/hub.fixture.ts';
import type { ChannelQuery } from '../channels/ports.ts';
import { Holders } from './holders.ts';
import { KeptWalks } from './kept-walks.ts';

const app = appWith({ id: 'shop' });

/** Channels of an app, and how many walks were begun through them. */
function scene(count: number) {
  const holders = new Holders();
  const join = (name: string) =>
    holders.join(app, 0, { channel: name as never, held: 1, member: undefined });
  for (let n = 0; n < count; n++) join(`c-${n}`);
  let begun = 0;
  const walks = new KeptWalks({
    channels(of, query) {
      begun++;
      return holders.channels(of, query);
    },
  });
  const page = async (query: Partial<ChannelQuery> & { limit: number }) =>
    await walks.page(app, { prefix: '', after: undefined, ...query });
  return { holders, page, begun: () => begun };
}

describe('pages that are asked for one by one', () => {
  it('are those of one walk', async () => {
    const { page, begun } = scene(10);
    const names: string[] = [];
    for (let after: string | undefined; ; ) {
      const { channels, next } = await page({ after, limit: 3 });
      names.push(...channels.map(([name]) => name));
      if (next === undefined) break;
      after = next;
    }
    expect(names).toEqual(Array.from({ length: 10 }, (_, n) => `c-${n}`));
    expect(begun()).toBe(1);
  });

  it('are the same if one is asked for twice', async () => {
    const { page, begun } = scene(10);
    const { next } = await page({ limit: 3 });
    const twice = [await page({ after: next, limit: 3 }), await page({ after: next, limit: 3 })];
    expect(twice[0]).toEqual(twice[1] as never);
    expect(begun()).toBe(2);
  });

  it('of another prefix are of another walk', async () => {
    const { page } = scene(20);
    const { next } = await page({ limit: 3 });
    const { channels } = await page({ after: next, prefix: 'c-1', limit: 2 });
    expect(channels.map(([name]) => name)).toEqual(['c-10', 'c-11'] as never);
  });

  it('are kept of 16 walks, and others are found again', async () => {
    const { page, begun } = scene(40);
    const first = await page({ limit: 1 });
    for (let limit = 2; limit < 19; limit++) await page({ limit });
    const before = begun();
    const { channels } = await page({ after: first.next, limit: 1 });
    expect(channels.map(([name]) => name)).toEqual(['c-1'] as never);
    expect(begun()).toBe(before + 1);
  });
});
