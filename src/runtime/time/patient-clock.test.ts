import { beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { PatientClock } from './patient-clock.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

let time: FakeTime;
let clock: PatientClock;
beforeEach(() => {
  time = new FakeTime();
  clock = new PatientClock({ system: time, monotonic: time.monotonic });
});

/** How far it is behind the system's clock after this time. */
async function behindMs(ms: number): Promise<number> {
  await time.advance(ms);
  return time.now() - clock.now();
}

describe('the clock by which what is old is deleted', () => {
  it('is that of the system, also when that is corrected or set back', async () => {
    expect(await behindMs(40 * DAY_MS)).toBe(0);
    time.setClock(MINUTE_MS - 1);
    expect(await behindMs(MINUTE_MS)).toBe(0);
    time.setClock(-30 * DAY_MS);
    expect(await behindMs(MINUTE_MS)).toBe(0);
  });

  it('follows a day later when that is set forward', async () => {
    time.setClock(30 * DAY_MS);
    expect(await behindMs(MINUTE_MS)).toBe(30 * DAY_MS);
    expect(await behindMs(DAY_MS - 1)).toBe(30 * DAY_MS);
    expect(await behindMs(1)).toBe(0);
  });

  it('does not follow when that is set to and fro', async () => {
    for (const byMs of [30 * DAY_MS, -30 * DAY_MS]) {
      for (let times = 0; times < 3; times++) {
        time.setClock(byMs);
        expect(await behindMs(23 * 60 * MINUTE_MS)).toBe(Math.max(0, byMs));
        time.setClock(-byMs);
        expect(await behindMs(MINUTE_MS)).toBe(Math.max(0, -byMs));
        // Until it is right again: a day after it was set forward.
        await behindMs(DAY_MS);
        expect(await behindMs(0)).toBe(0);
      }
    }
  });
});
