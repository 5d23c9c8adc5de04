import { expect, it } from 'bun:test';
import { FakeClock } from '../hub.fixture.ts';
import { LAST_SEEN_MS, LastSeen } from './last-seen.ts';

it('keeps for seven days when a user was seen last', () => {
  const clock = new FakeClock();
  const lastSeen = new LastSeen(10, clock);
  const atMs = clock.now();
  lastSeen.set('1', 'ann', atMs);
  expect(lastSeen.of('1', 'ann')).toBe(atMs);
  expect(lastSeen.of('2', 'ann')).toBeUndefined();
  clock.advance(LAST_SEEN_MS - 1);
  expect(lastSeen.of('1', 'ann')).toBe(atMs);
  clock.advance(1);
  expect(lastSeen.of('1', 'ann')).toBeUndefined();
  lastSeen.set('2', 'bob', clock.now());
  expect(lastSeen.size).toBe(1);
});

it('forgets of the app with most users the one that was seen longest ago', () => {
  const clock = new FakeClock();
  const lastSeen = new LastSeen(10, clock);
  for (let n = 0; n < 10; n++) lastSeen.set('large', `user-${n}`, clock.now() + n);
  // It becomes the newest.
  lastSeen.set('large', 'user-0', clock.now() + 10);
  for (let n = 0; n < 3; n++) lastSeen.set('small', `user-${n}`, clock.now());
  expect(lastSeen.size).toBe(10);
  const kept = Array.from({ length: 10 }, (_, n) => lastSeen.of('large', `user-${n}`));
  expect(kept.flatMap((at, n) => (at === undefined ? [n] : []))).toEqual([1, 2, 3]);
  for (let n = 0; n < 3; n++) expect(lastSeen.of('small', `user-${n}`)).toBe(clock.now());
});

it('forgets a user who is online, and the users of an app', () => {
  const clock = new FakeClock();
  const lastSeen = new LastSeen(10, clock);
  for (const user of ['ann', 'bob']) lastSeen.set('1', user, clock.now());
  lastSeen.forget('1', 'ann');
  expect(lastSeen.of('1', 'ann')).toBeUndefined();
  expect(lastSeen.size).toBe(1);
  lastSeen.forgetApp('1');
  expect(lastSeen.of('1', 'bob')).toBeUndefined();
  expect(lastSeen.size).toBe(0);
});
