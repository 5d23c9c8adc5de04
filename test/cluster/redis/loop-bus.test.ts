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

it('a loop finds what others have noted for it', async () => {
  await using link = await openLink({ url: redis.url, scripts: ALL_SCRIPTS });
  const [one, two] = [new LoopBus('x:'), new LoopBus('x:')];
  for (const bus of [one, two]) await bus.start(link.server);
  expect(await one.losses()).toEqual([]);
  await two.noteLoss(one.self, 's');
  await two.noteLoss(one.self, 't');
  await two.noteLoss(one.self, 's');
  expect(await one.losses()).toEqual(['s', 't']);
  expect(await two.losses()).toEqual([]);
  const left = Number(await link.server.commands.run(['PTTL', `x:lost:${one.self}`]));
  expect(left).toBeGreaterThan(0);
});

it('a loop does not look for notes before its messages arrive again', async () => {
  await using link = await openLink({ url: redis.url, scripts: ALL_SCRIPTS });
  const { commands, subscriptions, master, serverId, dataId } = link.server;
  const away = { sinceMs: 0, why: 'deaf', isRefused: false, server: master };
  const deaf = {
    commands,
    subscriptions,
    master,
    serverId,
    dataId,
    away,
    close: () => Promise.resolve(),
  };
  const bus = new LoopBus('x:');
  await bus.start(deaf);
  await expect(bus.losses()).rejects.toThrow('deaf');
});
