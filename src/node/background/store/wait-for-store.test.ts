import { expect, it } from 'bun:test';
import { FakeTime } from '../../../../testing/fake-time.ts';
import { StoreAway, StoreUnavailable } from '../../../stores/database/faults.ts';
import { keptLog } from '../../../webhooks/webhooks.fixture.ts';
import { waitForStore } from './wait-for-store.ts';

/** Waits for a store whose attempts end so; the last one repeats. */
function wait(...attempts: readonly (Error | 'open')[]) {
  const timers = new FakeTime();
  const log = keptLog();
  let tries = 0;
  const ended = waitForStore(
    async () => {
      const found = attempts[Math.min(tries++, attempts.length - 1)];
      if (found instanceof Error) throw found;
      return found;
    },
    { log, timers },
  ).catch((error: Error) => error);
  return { timers, log, ended, tries: () => tries };
}

it('a start waits while the database is away, and logs each reason once', async () => {
  const refused = new StoreAway('nothing listens');
  const starting = new StoreAway('the database system is starting up');
  const { timers, log, ended } = wait(refused, refused, starting, starting, refused, 'open');
  await timers.advance(9_000);
  expect(await ended).toBe('open');
  expect(log.lines).toEqual([
    'warn The store cannot be used yet {"why":"nothing listens"}',
    'warn The store cannot be used yet {"why":"the database system is starting up"}',
  ]);
});

it('a start ends with the last reason if the database stays away for 10 s', async () => {
  const { timers, ended, tries } = wait(new StoreAway('first'), new StoreAway('last'));
  await timers.advance(9_999);
  expect(tries()).toBeGreaterThan(10);
  await timers.advance(1);
  expect(await ended).toEqual(new StoreAway('last'));
});

it('a start waits for nothing that another attempt does not change', async () => {
  const { log, ended } = wait(new StoreUnavailable('its encoding is LATIN1'));
  expect(await ended).toEqual(new StoreUnavailable('its encoding is LATIN1'));
  expect(log.lines).toEqual([]);
});
