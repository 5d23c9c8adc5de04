import { afterAll, beforeAll, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import { PARTITIONS, partitionOf } from '../../src/engines/partition.ts';
import { PUBLISHED_KEY_MS } from '../../src/engines/published-keys.ts';
import { REMEMBERED_MAX } from '../../src/engines/remembered.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { RedisLoops } from './redis-loops.ts';
import { appWithHistory, channel } from './values.ts';

/** The idempotency keys that a partition in Redis remembers, at its limit. */

const KEYS_MAX = Math.ceil(REMEMBERED_MAX.items / PARTITIONS);
const small = appWithHistory([{ channels: '*' }], { id: 'small' });
const large = appWithHistory([{ channels: '*' }], { id: 'large' });

let redis: OwnRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

function channelInPartition(app: App) {
  for (let n = 0; ; n++) if (partitionOf(app, `one-${n}`) === 0) return channel(`one-${n}`).text;
}

async function open() {
  const cluster = await RedisLoops.open([redis.url], [small, large], 1);
  const { engine } = cluster.all[0] ?? {};
  if (engine === undefined) throw new Error('There is no loop');
  /** Publishes an event with each key. Returns their ids. */
  const publishEach = async (app: App, keys: readonly string[]) => {
    const makeFrame = () => '{}';
    const event = { app, channel: channelInPartition(app), makeFrame, remember: undefined };
    const cause = 'backend';
    return await Promise.all(
      keys.map((idempotencyKey) => engine.publish({ ...event, cause, idempotencyKey })),
    );
  };
  return {
    publishEach,
    advance: (ms: number) => cluster.advance(ms),
    [Symbol.asyncDispose]: () => cluster.close(),
  };
}

const keys = (prefix: string, number: number) =>
  Array.from({ length: number }, (_, n) => `${prefix}-${n}`);

it('forgets the oldest keys of the app with most', async () => {
  await using stage = await open();
  const few = keys('few', 20);
  const many = keys('many', KEYS_MAX + 10);
  const ofFew = await stage.publishEach(small, few);
  const ofMany = await stage.publishEach(large, many);
  expect(await stage.publishEach(small, few)).toEqual(ofFew);
  expect(await stage.publishEach(large, many.slice(30))).toEqual(ofMany.slice(30));
  expect(await stage.publishEach(large, many.slice(0, 1))).not.toEqual(ofMany.slice(0, 1));
});

it('has room again for all of an app when its keys and those of another one have expired', async () => {
  await using stage = await open();
  await stage.publishEach(small, keys('old', KEYS_MAX / 2));
  await stage.publishEach(large, keys('old', KEYS_MAX / 2));
  await stage.advance(PUBLISHED_KEY_MS + 1);
  const all = keys('new', KEYS_MAX - 40);
  const ids = await stage.publishEach(large, all);
  expect(await stage.publishEach(large, all)).toEqual(ids);
});
