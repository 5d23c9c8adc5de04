import { describe, expect, it } from 'bun:test';
import { type Browser, BrowserSite, type Evil, HONEST } from './browser-site.ts';

const LONG_MS = 180_000;

const HONEST_BROWSERS = 10;

/** Each hanging endpoint holds a connection once for as long as the server waits, so 600 of them would delay others once. */
const cases: readonly (readonly [number, Evil])[] = [
  ...([3, 60, 600] as const).map((count) => [count, 'asking'] as const),
  ...([3, 60, 600] as const).map((count) => [count, 'refused'] as const),
  ...([3, 60] as const).map((count) => [count, 'hanging'] as const),
];

function some(count: number, what: Browser['what']): readonly Browser[] {
  return Array.from({ length: count }, () => ({ instance: 0, what }));
}

describe('honest browsers', () => {
  it.each(cases)(
    'are reached beside %i that were accepted first and then fail: %s',
    async (count, evil) => {
      // Over HTTP/1.1, hanging endpoints use up all connections to their push service.
      const http2 = evil === 'hanging';
      const browsers = [...some(count, evil), ...some(HONEST_BROWSERS, 'ok')];
      await using site = await BrowserSite.start({ http2, browsers });
      site.areFakesGood = true;
      await site.reach(0);
      // Time to store the acceptance of all.
      await Bun.sleep(300);

      site.areFakesGood = false;
      for (let round = 0; round < 3; round++) {
        await site.reach(0);
        await site.reach(0, HONEST);
      }
      expect(site.gotMoreThan(1 + 6)).toEqual([]);
      expect(site.server.output.stderr).not.toMatch(/Gateway (fails|refuses)/);
    },
    LONG_MS,
  );
});
