import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { WaitingPublish } from '../../backlog-store.ts';
import { platforms } from '../../model/device.ts';
import { chooseLeaving } from './choose-leaving.ts';

const web = (number: number, bytes = 600): WaitingPublish => ({ number, bytes, platform: 'web' });
const apns = (number: number, bytes = 600): WaitingPublish => ({ number, bytes, platform: 'apns' });

const some = fc
  .array(
    fc.record({ bytes: fc.integer({ min: 1, max: 9 }), platform: fc.constantFrom(...platforms) }),
  )
  .map((all) => all.map((one, index): WaitingPublish => ({ ...one, number: index + 1 })));

describe('publishes that give way', () => {
  it('are the oldest of the platform whose publishes take most of the room', () => {
    const waiting = [apns(1), web(2), web(3), apns(4), web(5), web(6)];
    expect(chooseLeaving(waiting, 1)).toEqual([2]);
    expect(chooseLeaving(waiting, 1200)).toEqual([2, 3]);
    expect(chooseLeaving([web(1), web(2), apns(3, 9000)], 600)).toEqual([3]);
  });

  it('leave each platform as much as the others have', () => {
    const waiting = [web(1), web(2), web(3), web(4), apns(5), apns(6)];
    expect(chooseLeaving(waiting, 4 * 600).toSorted()).toEqual([1, 2, 3, 5]);
  });

  it('free what is needed, or all there is, and not one more', () => {
    fc.assert(
      fc.property(some, fc.nat(60), (waiting, bytes) => {
        const leaving = chooseLeaving(waiting, bytes);
        const sizes = leaving.map((number) => waiting[number - 1]?.bytes ?? 0);
        const freed = sizes.reduce((sum, size) => sum + size, 0);
        expect(new Set(leaving).size).toBe(leaving.length);
        if (leaving.length < waiting.length) expect(freed).toBeGreaterThanOrEqual(bytes);
        expect(freed - (sizes.at(-1) ?? 0)).toBeLessThan(Math.max(bytes, 1));
      }),
    );
  });
});
