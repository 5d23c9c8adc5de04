import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { RedisClient } from 'bun';
import type { App } from '../../src/channels/app.ts';
import { PARTITIONS, partitionOf } from '../../src/engines/partition.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { RedisLoops } from './redis-loops.ts';
import { appWith, channel } from './values.ts';

/** What a partition in Redis remembers for cache channels, at its limits. */

const EVENTS_MAX = Math.ceil(100_000 / PARTITIONS);
const BYTES_MAX = (128 * 1024 * 1024) / PARTITIONS;
const small = appWith({}, 'small');
const large = appWith({}, 'large');

let redis: OwnRedis;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(async () => {
  await redis[Symbol.asyncDispose]();
});

/** Names of cache channels in partition 0. */
function namesOf(app: App, count: number): readonly string[] {
  const names: string[] = [];
  for (let n = 0; names.length < count; n++) {
    if (partitionOf(app, `cache-${n}`) === 0) names.push(`cache-${n}`);
  }
  return names;
}

async function open() {
  const cluster = await RedisLoops.open([redis.url], [small, large], 1);
  const { engine } = cluster.all[0] ?? {};
  if (engine === undefined) throw new Error('There is no loop');
  return {
    keyPrefix: cluster.prefix,
    remember: (app: App, text: string, data: string) =>
      engine.publish({
        app,
        channel: channel(text).text,
        makeFrame: () => '{}',
        remember: { name: 'event', data },
      }),
    append: (app: App, text: string, at: number, piece: string) =>
      engine.append({
        app,
        channel: channel(text),
        name: 'answer',
        piece: { id: 'm1', at, text: piece, isLast: false },
        bytesMax: 2 * BYTES_MAX,
      }),
    advance: (ms: number) => cluster.advance(ms),
    cached: (app: App, text: string) => engine.cached(app, channel(text)),
    /** How many of the channels have an event. */
    async remembered(app: App, names: readonly string[]): Promise<number> {
      const events = await Promise.all(names.map((text) => engine.cached(app, channel(text))));
      return events.filter((event) => event !== undefined).length;
    },
    [Symbol.asyncDispose]: () => cluster.close(),
  };
}

describe('the events that a partition remembers', () => {
  it('are not pushed out by an app with more of them, which loses its oldest', async () => {
    await using cache = await open();
    const few = namesOf(small, 20);
    const many = namesOf(large, EVENTS_MAX + 10);
    for (const text of few) await cache.remember(small, text, 'data');
    const left = EVENTS_MAX - few.length;
    for (const some of [many.slice(0, -left), many.slice(-left)]) {
      await Promise.all(some.map((text) => cache.remember(large, text, 'data')));
      await cache.advance(1);
    }
    expect(await cache.remembered(small, few)).toBe(few.length);
    expect(await cache.remembered(large, many.slice(-left))).toBe(left);
    expect(await cache.remembered(large, many)).toBe(left);
    // The small app may still have more of it.
    const more = namesOf(small, 60).slice(20);
    for (const text of more) await cache.remember(small, text, 'data');
    expect(await cache.remembered(small, [...few, ...more])).toBe(60);
  });

  it('are not pushed out by long ones of another app', async () => {
    await using cache = await open();
    const few = namesOf(small, 20);
    const long = namesOf(large, 30);
    for (const text of few) await cache.remember(small, text, 'x'.repeat(10_000));
    const data = 'x'.repeat(100_000);
    for (const text of long) await cache.remember(large, text, data);
    expect(await cache.remembered(small, few)).toBe(few.length);
    expect(await cache.remembered(large, long)).toBe(Math.floor((BYTES_MAX - 200_000) / 100_000));
    // Too long for what the other app leaves.
    await cache.remember(large, long[0] ?? '', 'x'.repeat(BYTES_MAX - 100_000));
    expect(await cache.remembered(small, few)).toBe(few.length);
  });

  it('may be empty, and are replaced', async () => {
    await using cache = await open();
    const names = namesOf(small, 1);
    for (let n = 0; n < 3; n++) await cache.remember(small, names[0] ?? '', '');
    expect(await cache.remembered(small, names)).toBe(1);
  });

  it('may be values, which count as they grow', async () => {
    await using cache = await open();
    const few = namesOf(small, 20);
    const [value = '', next = '', ...rest] = namesOf(large, 30);
    for (const text of few) await cache.remember(small, text, 'x'.repeat(10_000));
    for (const text of rest) await cache.remember(large, text, 'x'.repeat(10_000));
    const half = 'x'.repeat(BYTES_MAX / 2);
    expect(await cache.append(large, value, 0, half)).toMatchObject({ result: 'sent' });
    expect(await cache.remembered(large, rest)).toBe(rest.length);
    // Older events of its app make room, and those of a smaller app do not.
    const more = 'x'.repeat(BYTES_MAX / 2 - 300_000);
    expect(await cache.append(large, value, half.length, more)).toMatchObject({ result: 'sent' });
    expect(await cache.remembered(large, rest)).toBe(10);
    expect(await cache.append(large, value, half.length + more.length, half)).toEqual({
      result: 'no-room',
    });
    expect(await cache.remembered(large, [value, ...rest])).toBe(1);
    expect(await cache.remembered(small, few)).toBe(few.length);
    // A newer event makes the value go, with all that it takes.
    await cache.remember(large, next, half);
    expect(await cache.remembered(large, [value, next])).toBe(1);
    expect(await cache.append(large, value, 0, 'y')).toMatchObject({ result: 'sent', length: 1 });
  });

  it('are none for servers of the previous release while a value grows, whose events replace it', async () => {
    await using cache = await open();
    const [text = ''] = namesOf(small, 1);
    await cache.append(small, text, 0, 'first');
    const key = `${cache.keyPrefix}{0}K:${small.id}/${text}`;
    const other = new RedisClient(redis.url);
    // These fields are read there, and the first is the end of the event.
    expect(await other.hmget(key, ['v', 'x', 'd'])).toEqual(['m1', null, null]);
    await other.del(key);
    await other.send('HSET', [key, 'x', '4000000000000', 'n', 'plain', 'd', 'data', 'i', '']);
    other.close();
    expect(await cache.cached(small, text)).toMatchObject({ name: 'plain', data: 'data' });
    expect(await cache.append(small, text, 5, 'x')).toEqual({ result: 'unknown' });
    expect(await cache.append(small, text, 0, 'new')).toMatchObject({ length: 3 });
    expect((await cache.cached(small, text))?.data).toBe('{"id":"m1","at":0,"text":"new"}');
  });
});
