import { describe, expect, it } from 'bun:test';
import type { App } from '../channels/app.ts';
import { appWith, channelName, FakeClock } from '../channels/hub.fixture.ts';
import { EventCache } from './event-cache.ts';
import { dataOf, Values } from './values.ts';

/** What values share with all that cache channels remember. The other rules are in the contract of values. */

const small = appWith({ id: 'small' });
const large = appWith({ id: 'large' });

function stage(charactersMax: number, eventsMax = 100) {
  const clock = new FakeClock();
  const cache = new EventCache(clock, eventsMax, charactersMax);
  const values = new Values({
    cache,
    histories: { append: () => expect.unreachable() },
    clock,
    send: () => undefined,
    onBegun: () => undefined,
  });
  const channel = channelName('cache-a');
  return {
    clock,
    append: (app: App, at: number, text: string, name = 'cache-a') =>
      values.append({
        app,
        channel: channelName(name),
        name: 'e',
        piece: { id: 'm1', at, text, isLast: false },
        bytesMax: 1e6,
      }).result,
    put: (app: App, name: string, data: string) =>
      cache.put(`${app.id}/${channelName(name).text}`, {
        name: 'e',
        data,
        expiresAt: clock.now() + 1_800_000,
      }),
    has: (app: App, name: string) => cache.get(`${app.id}/${channelName(name).text}`) !== undefined,
    textOf: (app: App) => {
      const value = cache.get(`${app.id}/${channel.text}`)?.value;
      return value === undefined ? undefined : JSON.parse(dataOf(value)).text;
    },
  };
}

describe('a value', () => {
  it('counts as it grows: older events of its app go, and what is too much is refused', () => {
    const { append, put, has, textOf } = stage(100);
    put(small, 'cache-s', 'x'.repeat(30));
    put(large, 'cache-l', 'x'.repeat(30));
    expect(append(large, 0, 'x'.repeat(30))).toBe('sent');
    expect(append(large, 30, 'x'.repeat(10))).toBe('sent');
    expect(has(large, 'cache-l')).toBe(true);
    expect(append(large, 40, 'x'.repeat(30))).toBe('sent');
    expect(has(large, 'cache-l')).toBe(false);
    expect(append(large, 70, 'x')).toBe('no-room');
    expect(has(small, 'cache-s')).toBe(true);
    expect(textOf(large)).toHaveLength(70);
    // What it took is free when it begins anew, and when another event replaces it.
    expect(append(large, 0, 'x'.repeat(70))).toBe('sent');
    put(large, 'cache-a', 'x'.repeat(70));
    expect(append(large, 1, 'x')).toBe('unknown');
    expect(has(large, 'cache-a')).toBe(true);
  });

  it('is not begun without room, and then nothing is remembered', () => {
    const { append, has, textOf } = stage(10);
    expect(append(small, 0, 'x'.repeat(11))).toBe('no-room');
    expect(textOf(small)).toBeUndefined();
    expect(append(small, 0, 'x'.repeat(10))).toBe('sent');
    expect(has(small, 'cache-a')).toBe(true);
  });

  it('that grows is not the oldest of its app', () => {
    const { append, put, has } = stage(1000, 2);
    append(small, 0, 'x');
    put(small, 'cache-b', 'x');
    append(small, 1, 'x');
    put(small, 'cache-c', 'x');
    expect(['cache-a', 'cache-b', 'cache-c'].filter((name) => has(small, name))).toEqual([
      'cache-a',
      'cache-c',
    ]);
  });
});
