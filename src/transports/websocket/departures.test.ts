import { describe, expect, it } from 'bun:test';
import {
  appWith,
  hubWith,
  LateEngine,
  sessionOf,
  subscriptionTo,
} from '../../channels/hub.fixture.ts';
import { Departures } from './departures.ts';

function stage() {
  const engine = new LateEngine();
  const hub = hubWith(engine);
  const app = appWith();
  const departures = new Departures(hub);
  const session = (id: string, channels: number) => {
    const one = sessionOf(app, id);
    for (let n = 0; n < channels; n++) {
      const subscription = subscriptionTo(app, `c-${n}`);
      hub.channels.enter(app, subscription.channel);
      one.add(subscription);
    }
    return one;
  };
  return { engine, departures, session };
}

describe('a connection that has ended', () => {
  it('leaves few channels at once', () => {
    const { engine, departures, session } = stage();
    const one = session('1.1', 50);
    departures.add(one);
    expect(one.closed).toBe(true);
    expect(engine.calls).toHaveLength(50);
  });

  it('leaves many in several turns of the loop, as do all that end with it', async () => {
    const { engine, departures, session } = stage();
    const sessions = Array.from({ length: 5 }, (_, n) => session(`${n}.1`, 1000));
    for (const one of sessions) departures.add(one);
    expect(engine.calls).toHaveLength(0);
    expect(sessions.every(({ closed }) => closed)).toBe(true);
    const seen: number[] = [];
    const watch = setInterval(() => seen.push(engine.calls.length), 0);
    await departures.done();
    clearInterval(watch);
    expect(engine.calls).toHaveLength(5000);
    expect(sessions.map(({ subscriptionCount }) => subscriptionCount)).toEqual([0, 0, 0, 0, 0]);
  });
});
