import { beforeEach, expect, it } from 'bun:test';
import { appWith, FakeClock, sessionOf } from '../hub.fixture.ts';
import type { Session } from '../subscribing/session.ts';
import { TokenTurns } from './token-turns.ts';

/** Source: identity, §3.4. */

const attacked = appWith({ id: 'attacked' });
const other = appWith({ id: 'other' });

let clock: FakeClock;
let turns: TokenTurns;
let addresses: Map<Session, string>;
/** What was verified, in order. */
let verified: string[];
beforeEach(() => {
  clock = new FakeClock();
  addresses = new Map();
  verified = [];
  turns = new TokenTurns({ timers: clock, addressOf: (session) => addresses.get(session) ?? '' });
});

let connections = 0;
function connect(app = attacked, address = 'here'): Session {
  connections += 1;
  const session = sessionOf(app, `1.${connections}`);
  addresses.set(session, address);
  return session;
}

/** Verifies a token as the core does: `comparisons` were for nothing. */
function present(name: string, session: Session, comparisons = 1): void {
  const verify = () => {
    verified.push(name);
    turns.charge(session.app, comparisons);
  };
  if (turns.isOpen(session.app)) verify();
  else void turns.wait(session, verify);
}

function flood(count: number, address = 'here'): Session[] {
  return Array.from({ length: count }, () => {
    const session = connect(attacked, address);
    present('wrong', session);
    return session;
  });
}

it('refuses at most 500 tokens a second, and five at once', () => {
  flood(2500);
  expect([verified.length, turns.size]).toEqual([5, 2495]);
  for (let second = 1; second <= 4; second++) {
    clock.advance(1000);
    expect(verified.length).toBeLessThanOrEqual(5 + 500 * second);
    expect(verified.length).toBeGreaterThan(490 * second);
  }
  clock.advance(1000);
  expect([verified.length, turns.size]).toEqual([2500, 0]);
});

it('counts each key that a token was compared with', () => {
  for (let n = 0; n < 100; n++) present('costly', connect(), 20);
  clock.advance(1000);
  expect(verified.length).toBeLessThanOrEqual(26);
});

it('lets tokens that are accepted never wait', () => {
  for (let n = 0; n < 5000; n++) present('right', connect(), 0);
  expect(verified.length).toBe(5000);
});

it('lets tokens of other apps not wait beside a flood, nor those that this app refuses now and then', () => {
  flood(5000);
  for (let second = 0; second < 3; second++) {
    clock.advance(1000);
    const before = verified.length;
    for (let n = 0; n < 100; n++) present('right', connect(other), 0);
    present('stale', connect(other));
    expect(verified.length - before).toBe(101);
  }
});

it('gives apps turns, also if many tokens of both are refused', () => {
  flood(1000);
  for (let n = 0; n < 20; n++) present(`other ${n}`, connect(other, `address ${n}`));
  clock.advance(80);
  expect(verified.filter((name) => name !== 'wrong').length).toBe(20);
});

it('gives addresses turns, and then their connections, so that a flood delays itself', () => {
  flood(1000);
  const before = verified.length;
  present('right', connect(attacked, 'elsewhere'), 0);
  clock.advance(10);
  expect(verified.slice(before)).toContain('right');
  present('behind', connect(), 0);
  clock.advance(1900);
  expect(verified).not.toContain('behind');
  clock.advance(200);
  expect(verified).toContain('behind');
});

it('verifies many that wait and are accepted in a few turns, but not all in one', () => {
  flood(6);
  for (let n = 0; n < 100; n++) present('right', connect(attacked, `address ${n}`), 0);
  clock.advance(10);
  expect(verified.length).toBe(25);
  clock.advance(50);
  expect([verified.length, turns.size]).toEqual([106, 0]);
});

it('never verifies the token of a connection that has ended', () => {
  const sessions = flood(30);
  for (const session of sessions) turns.forget(session);
  const [first, last] = [sessions[0], sessions.at(-1)];
  expect([turns.size, first && turns.isWaiting(first), last && turns.isWaiting(last)]).toEqual([
    0,
    false,
    false,
  ]);
  clock.advance(1000);
  expect(verified.length).toBe(5);
});

it('passes the result on, or what was thrown', async () => {
  flood(21);
  const result = turns.wait(connect(), () => 7);
  const failed = turns.wait(connect(), () => {
    throw new Error('broken');
  });
  const outcomes = Promise.allSettled([result, failed]);
  clock.advance(1000);
  expect(await outcomes).toMatchObject([{ value: 7 }, { reason: { message: 'broken' } }]);
});
