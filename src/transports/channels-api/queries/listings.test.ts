import { describe, expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { App } from '../../../channels/app.ts';
import { appWith, channelName, hubWith, LateEngine } from '../../../channels/hub.fixture.ts';
import type { ChannelPage } from '../../../channels/ports.ts';
import { ApiRefusal } from '../problems.ts';
import { type Listed, Listings } from './listings.ts';

const QUERY = { prefix: '', textOf: () => '{}' };
const appOf = (id: string, queriesPerSecond = 0): App => {
  const app = appWith({ id });
  return { ...app, limits: { ...app.limits, queriesPerSecond } };
};
const page = (name: string, next: string | undefined): ChannelPage => ({
  channels: [[channelName(name).text, { subscriptions: 1, users: 0 }]],
  next,
});

/** An engine whose apps have the given number of channels, on as many pages. */
function stage({ count, pages }: { readonly count: number; readonly pages: number }) {
  /** The apps whose pages were made, in their order. */
  const made: string[] = [];
  const fake = new LateEngine();
  const engine = Object.assign(fake, {
    channelCountOf: () => count,
    channels: (app: App) => {
      let left = pages;
      return {
        page: () => {
          made.push(app.id);
          left--;
          return page(`${app.id}-${left}`, left === 0 ? undefined : String(left));
        },
      };
    },
  });
  const hub = hubWith(engine);
  return { hub, made, listings: new Listings(hub) };
}

function jsonOf(listed: Listed): string | undefined {
  return 'json' in listed ? listed.json : undefined;
}

describe('listings of channels', () => {
  it('of one page are answered at once, however many there are', () => {
    const { listings } = stage({ count: 1_000, pages: 1 });
    for (let n = 0; n < 100; n++) {
      expect(listings.answer(appOf('a'), QUERY)).toEqual({ json: '{"channels":{"a-0":{}}}' });
    }
  });

  it('make one page in a turn, all together, of each app in turn', async () => {
    const { listings, made } = stage({ count: 1_001, pages: 2 });
    const [a, b] = [appOf('a'), appOf('b')];
    const answers = Promise.all([a, a, a, b].map((app) => listings.answer(app, QUERY)));
    expect(made).toEqual([]);
    for (let turn = 1; turn <= 8; turn++) {
      await nextTurn();
      expect(made.length).toBeLessThanOrEqual(turn);
    }
    expect((await answers).map(jsonOf)).toEqual([
      ...Array(3).fill('{"channels":{"a-1":{},"a-0":{}}}'),
      '{"channels":{"b-1":{},"b-0":{}}}',
    ]);
    expect(made.join('')).toBe('ababaaaa');
  });

  it('are refused with 429 while an app has eight in progress, and only then', async () => {
    const { listings } = stage({ count: 1_001, pages: 1 });
    const app = appOf('a');
    const begun = Array.from({ length: 8 }, () => listings.answer(app, QUERY));
    const refused = listings.answer(app, QUERY);
    expect(refused).toBeInstanceOf(ApiRefusal);
    expect(refused).toMatchObject({ problem: 'rate-limited', headers: { 'retry-after': '1' } });
    expect(listings.answer(appOf('b'), QUERY)).toBeInstanceOf(Promise);
    await Promise.all(begun);
    expect(jsonOf(await listings.answer(app, QUERY))).toBe('{"channels":{"a-0":{}}}');
  });

  it('are paid for before they begin', () => {
    const { listings, hub } = stage({ count: 5_000, pages: 1 });
    const app = appOf('a', 100);
    expect(hub.usage.takeQuery(app)).toBe(true);
    void listings.answer(app, QUERY);
    expect(hub.usage.takeQuery(app)).toBe(false);
  });

  it('continue if one of them fails', async () => {
    const { listings, hub } = stage({ count: 1_001, pages: 1 });
    const { channels } = hub.authority;
    const broken = { page: () => Promise.reject(new Error('The authority is gone')) };
    Object.assign(hub.authority, { channels: () => broken });
    const failing = Promise.resolve(listings.answer(appOf('a'), QUERY));
    Object.assign(hub.authority, { channels });
    const other = listings.answer(appOf('a'), QUERY);
    await expect(failing).rejects.toThrow('The engine failed');
    expect(jsonOf(await other)).toBe('{"channels":{"a-0":{}}}');
  });
});
