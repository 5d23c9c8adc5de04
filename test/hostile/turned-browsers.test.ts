import { describe, expect, it } from 'bun:test';
import { sampleMachineDelay } from '../../testing/machine-delay.ts';
import { type Browser, BrowserSite, type Evil, HONEST } from './browser-site.ts';

const LONG_MS = 180_000;

/** Latency that is still fine beside other tests: endpoints that hold up others do so for 15 s. */
const SLACK_MS = 14_000;

/** Steps from a publish to a browser that a busy machine may delay. */
const STEPS = 5;

const HONEST_BROWSERS = 10;

/** Each hanging endpoint holds a connection for 15 s once, so 600 of them would delay others once. */
const cases: readonly (readonly [number, Evil])[] = [
  ...([3, 60, 600] as const).map((count) => [count, 'asking'] as const),
  ...([3, 60, 600] as const).map((count) => [count, 'refused'] as const),
  ...([3, 60] as const).map((count) => [count, 'hanging'] as const),
];

function some(count: number, what: Browser['what']): readonly Browser[] {
  return Array.from({ length: count }, () => ({ instance: 0, what }));
}

const longest = (all: readonly number[]) => Math.max(...all);

describe('honest browsers', () => {
  it.each(cases)(
    'are reached at once beside %i that were accepted first and then fail: %s',
    async (count, evil) => {
      // Over HTTP/1.1, hanging endpoints use up all connections to their push service.
      const http2 = evil === 'hanging';
      const browsers = [...some(count, evil), ...some(HONEST_BROWSERS, 'ok')];
      await using site = await BrowserSite.start({ http2, browsers });
      site.areFakesGood = true;
      const quiet = await site.reach(0);
      // Time to store the acceptance of all.
      await Bun.sleep(300);

      site.areFakesGood = false;
      const machine = await sampleMachineDelay();
      const turned: number[] = [];
      for (let round = 0; round < 3; round++) {
        turned.push(...(await site.reach(0)), ...(await site.reach(0, HONEST)));
      }
      const delayMs = STEPS * (await machine.stop());
      expect(longest(turned)).toBeLessThan(longest(quiet) * 3 + SLACK_MS + delayMs);
      expect(site.gotMoreThan(1 + 6)).toEqual([]);
      expect(site.server.output.stderr).not.toMatch(/Gateway (fails|refuses)/);
    },
    LONG_MS,
  );
});
