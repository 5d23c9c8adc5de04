import { describe, expect, it } from 'bun:test';
import type { AppLimits } from '../app.ts';
import { appWith, sessionOf, subscriptionTo } from '../hub.fixture.ts';
import type { Subscription } from './session.ts';

it('finds its subscriptions by their channels, in order, however many there are', () => {
  const session = sessionOf(appWith());
  const expected: Subscription[] = [];
  const check = () => {
    expect(session.subscriptionCount).toBe(expected.length);
    expect(session.subscriptions()).toEqual(expected);
    for (const one of expected) expect(session.subscription(one.channel.text)).toBe(one);
  };
  check();
  for (let number = 0; number < 40; number++) {
    const one = subscriptionTo(appWith(), `c${number}`);
    session.add(one);
    expected.push(one);
    check();
    const other = subscriptionTo(appWith(), `c${number}`);
    session.replace(other);
    expected.splice(-1, 1, other);
    check();
    if (number % 3 !== 0) continue;
    const [gone] = expected.splice(number % 2 === 0 ? 0 : -1, 1);
    session.remove(gone?.channel.text ?? '');
    session.remove('never there');
    expect(session.subscription(gone?.channel.text ?? '')).toBeUndefined();
    check();
  }
});

it('may lose subscriptions while they are walked', () => {
  for (const count of [3, 20]) {
    const session = sessionOf(appWith());
    for (let number = 0; number < count; number++) {
      session.add(subscriptionTo(appWith(), `c${number}`));
    }
    let walked = 0;
    for (const { channel } of session.subscriptions()) {
      session.remove(channel.text);
      walked++;
    }
    expect([walked, session.subscriptionCount]).toEqual([count, 0]);
  }
});

describe('attempts to subscribe', () => {
  const sessionWith = (limits: Partial<AppLimits>) => {
    const app = appWith();
    return sessionOf({ ...app, limits: { ...app.limits, ...limits } });
  };
  const tries = (session: ReturnType<typeof sessionWith>, count: number) =>
    Array.from({ length: count }, () => session.mayAttempt()).filter(Boolean).length;

  it('are as many at once as a connection may have channels, and then a rate', () => {
    const session = sessionWith({ subscriptionsPerSecond: 5, channelsPerConnection: 300 });
    expect(tries(session, 1000)).toBe(300);
    session.secondsPassed(1);
    expect(tries(session, 1000)).toBe(5);
    session.secondsPassed(1000);
    expect(tries(session, 1000)).toBe(300);
  });

  it('allow a burst of ten seconds of the rate if that is more', () => {
    expect(tries(sessionWith({ subscriptionsPerSecond: 5, channelsPerConnection: 1 }), 99)).toBe(
      50,
    );
  });

  it('are not limited if there is no rate', () => {
    expect(tries(sessionWith({ subscriptionsPerSecond: 0 }), 10_000)).toBe(10_000);
  });
});
