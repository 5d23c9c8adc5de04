import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { Topic } from '../channels/event.ts';
import { channelName, FakeClock } from '../channels/hub.fixture.ts';
import { EventCache } from './event-cache.ts';

const MINUTE = 60_000;

const topic = (name: string): Topic => `app/${channelName(name).text}`;

function stage(eventsMax = 1_000, charactersMax = 1_000_000) {
  const clock = new FakeClock();
  const cache = new EventCache(clock, eventsMax, charactersMax);
  return {
    clock,
    put(name: string, data = '', ttlMs = 30 * MINUTE) {
      cache.put(topic(name), { name: 'e', data, expiresAt: clock.now() + ttlMs });
    },
    /** Which of these are remembered. */
    has: (...names: string[]) => names.filter((name) => cache.get(topic(name)) !== undefined),
    dataOf: (name: string) => cache.get(topic(name))?.data,
  };
}

describe('the event cache', () => {
  it('forgets the oldest when there are more events than it may hold', () => {
    const { put, has } = stage(3);

    for (const name of ['a', 'b', 'c', 'd', 'e']) put(name);

    expect(has('a', 'b', 'c', 'd', 'e')).toEqual(['c', 'd', 'e']);
  });

  it('treats an event that is put again as new', () => {
    const { put, has, dataOf } = stage(3);
    for (const name of ['a', 'b', 'c']) put(name, 'old');

    put('a', 'new');
    put('d');

    expect(has('a', 'b', 'c', 'd')).toEqual(['a', 'c', 'd']);
    expect(dataOf('a')).toBe('new');
  });

  it('forgets the oldest when their data is more than it may hold', () => {
    const { put, has } = stage(100, 10);

    put('a', 'xxxx');
    put('b', 'xxxx');
    put('c', 'xxxx');
    expect(has('a', 'b', 'c')).toEqual(['b', 'c']);
    // What is replaced or gone counts no longer.
    for (let count = 0; count < 10; count++) put('c', 'xxxxxx');
    expect(has('b', 'c')).toEqual(['b', 'c']);
    put('d', 'x'.repeat(10));
    expect(has('b', 'c', 'd')).toEqual(['d']);
  });

  it('does not hold an event that alone is more than it may hold', () => {
    const { put, has } = stage(100, 10);
    put('a', 'x');

    put('b', 'x'.repeat(11));

    expect(has('a', 'b')).toEqual([]);
    put('c', 'x'.repeat(10));
    expect(has('c')).toEqual(['c']);
  });

  it('drops expired events when another is put', () => {
    const { clock, put, has } = stage(2);
    put('a');
    clock.advance(20 * MINUTE);
    put('b');
    clock.advance(15 * MINUTE);

    // There is room for both of these beside b only because a is gone.
    put('b', 'again');
    put('c');

    expect(has('a', 'b', 'c')).toEqual(['b', 'c']);
  });

  it('keeps the latest events that have not expired, whatever else happens', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const step = fc.oneof(
      fc.record({ name, data: fc.string({ maxLength: 5 }) }),
      fc.record({ waitMs: fc.integer({ min: 0, max: 20 * MINUTE }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50, size: 'max' }), (steps) => {
        const { clock, put, dataOf } = stage();
        const model = new Map<string, { data: string; expiresAt: number }>();
        for (const one of steps) {
          if ('waitMs' in one) {
            clock.advance(one.waitMs);
          } else {
            put(one.name, one.data);
            model.set(one.name, { data: one.data, expiresAt: clock.now() + 30 * MINUTE });
          }
          for (const each of ['a', 'b', 'c', 'd']) {
            const expected = model.get(each);
            const live = expected !== undefined && expected.expiresAt > clock.now();
            expect(dataOf(each)).toBe(live ? expected.data : undefined);
          }
        }
      }),
    );
  });
});

describe('the event cache of several apps', () => {
  const topicOf = (app: string, name: string): Topic => `${app}/${channelName(name).text}`;

  function shared(eventsMax: number, charactersMax = 1000) {
    const clock = new FakeClock();
    const cache = new EventCache(clock, eventsMax, charactersMax);
    return {
      clock,
      put: (app: string, name: string, data = '', ttlMs = 30 * MINUTE) =>
        cache.put(topicOf(app, name), { name: 'e', data, expiresAt: clock.now() + ttlMs }),
      has: (app: string, name: string) => cache.get(topicOf(app, name)) !== undefined,
    };
  }

  it('forgets the oldest of the app that has most', () => {
    const { put, has } = shared(10);
    put('quiet', 'price');
    for (let n = 0; n < 1000; n++) put('loud', `n-${n}`);
    expect(has('quiet', 'price')).toBe(true);
    expect(has('loud', 'n-999')).toBe(true);
    expect(has('loud', 'n-990')).toBe(false);
  });

  it('does so by the size of events too', () => {
    const { put, has } = shared(1000, 100);
    put('quiet', 'price', 'x'.repeat(20));
    for (let n = 0; n < 100; n++) put('loud', `n-${n}`, 'x'.repeat(15));
    expect(has('quiet', 'price')).toBe(true);
  });

  it('gives a new app its share', () => {
    const { put, has } = shared(10);
    for (let n = 0; n < 10; n++) put('loud', `n-${n}`);
    for (let n = 0; n < 5; n++) put('new', `n-${n}`);
    expect([0, 1, 2, 3, 4].every((n) => has('new', `n-${n}`))).toBe(true);
    expect(has('loud', 'n-4')).toBe(false);
    expect(has('loud', 'n-5')).toBe(true);
  });

  it('drops expired events of idle apps', () => {
    const { clock, put, has } = shared(10);
    for (let n = 0; n < 5; n++) put('idle', `n-${n}`);
    clock.advance(31 * MINUTE);
    for (let n = 0; n < 10; n++) put('busy', `n-${n}`);
    expect(has('busy', 'n-0')).toBe(true);
  });
});
