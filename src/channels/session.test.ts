import { expect, it } from 'bun:test';
import { appWith, sessionOf, subscriptionTo } from './hub.fixture.ts';
import type { Subscription } from './session.ts';

it('knows its subscriptions by their channels, in order, however many there are', () => {
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
