import { afterAll, beforeAll, expect, it } from 'bun:test';
import { LoopBus } from '../../../src/engines/redis/loop-bus.ts';
import { ALL_SCRIPTS } from '../../../src/engines/redis/scripts/all-scripts.ts';
import { type OwnRedis, startRedis } from '../../../testing/servers/redis.ts';
import { openLink } from './link.fixture.ts';

let redis: OwnRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

it('a loop gives up its own claims only', async () => {
  await using link = await openLink({ url: redis.url, scripts: ALL_SCRIPTS });
  const [one, two] = [new LoopBus('x:'), new LoopBus('x:')];
  for (const bus of [one, two]) await bus.start(link.server);
  expect(await one.claim('s')).toBe(one.self);
  two.take('s');
  one.release('s');
  expect(await one.find('s')).toBe(two.self);
  two.release('s');
  expect(await one.find('s')).toBeUndefined();
});
