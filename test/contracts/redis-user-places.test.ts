import { afterAll, beforeAll, expect, it } from 'bun:test';
import { RedisClient } from 'bun';
import { SIGN } from '../../src/engines/redis/scripts/users.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { type Fate, type RedisLoop, RedisLoops } from './redis-loops.ts';
import { appWith } from './values.ts';

/** The places of the connections of a user, over Redis. */

const app = appWith({ connectionsPerUser: 2 });
const plain = appWith({}, 'plain');

let redis: OwnRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

const signIn = ({ engine }: RedisLoop, held: number) => engine.signIn(app, 'ann', held);

it('are free when the lease of a server that was killed has ended', async () => {
  const cluster = new RedisLoops([redis.url], [app]);
  const [one, two] = [await cluster.add(), await cluster.add()];
  expect(await signIn(two, 2)).toBe(true);
  await cluster.kill(two);
  await cluster.advance(9_000);
  expect(await signIn(one, 1)).toBe(false);
  await cluster.advance(2_000);
  expect(await signIn(one, 1)).toBe(true);
  expect(await signIn(one, 2)).toBe(true);
  expect(await signIn(one, 3)).toBe(false);
  await cluster.close();
});

it('are taken again by a server that was cut off and has all of its connections', async () => {
  const cluster = new RedisLoops([redis.url], [app]);
  const [one, two] = [await cluster.add(), await cluster.add()];
  expect(await signIn(two, 2)).toBe(true);
  // It is swept, and comes back under another id.
  cluster.suspend(two);
  await cluster.advance(30_000);
  cluster.resume(two);
  await cluster.advance(5_000);
  expect(await signIn(one, 1)).toBe(false);
  await two.engine.signOut(app, 'ann', 1);
  expect(await signIn(one, 1)).toBe(true);
  await cluster.close();
});

it('are counted once if replies are lost, and given back if there was none in the end', async () => {
  const cluster = new RedisLoops([redis.url], [app]);
  let lost = 0;
  const fate: Fate = (script) => (script === SIGN && lost-- > 0 ? 'reply-lost' : 'answered');
  const [one, two] = [await cluster.add({ fate }), await cluster.add()];
  const after = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    while (!isDone) await cluster.advance(250);
    return await done;
  };
  lost = 2;
  expect(await after(signIn(one, 1))).toBe(true);
  expect(await signIn(two, 1)).toBe(true);
  expect(await signIn(two, 2)).toBe(false);
  await two.engine.signOut(app, 'ann', 0);
  // The place is taken without a reply; before it is asked for again, nothing is free any more.
  lost = 1;
  const last = signIn(one, 2);
  await cluster.settled();
  Object.assign(app.limits, { connectionsPerUser: 1 });
  expect(await after(last)).toBe(false);
  Object.assign(app.limits, { connectionsPerUser: 2 });
  await cluster.advance(5_000);
  expect(await signIn(two, 1)).toBe(true);
  expect(await signIn(two, 2)).toBe(false);
  await cluster.close();
});

it('are no commands and no fields of apps without the limit', async () => {
  const cluster = new RedisLoops([redis.url], [app, plain]);
  const one = await cluster.add();
  const asking = new RedisClient(redis.url);
  await asking.send('CONFIG', ['RESETSTAT']);
  await one.engine.signIn(plain, 'ann', 1);
  await one.engine.signIn(plain, 'ann', 2);
  const stats = String(await asking.send('INFO', ['commandstats']));
  expect(stats).not.toContain('cmdstat_hgetall');
  const keys = (await asking.send('KEYS', ['*T:plain/*'])) as string[];
  expect(keys).toHaveLength(1);
  expect(await asking.send('HGETALL', keys)).toEqual({
    '#': '1',
    s: String(cluster.clock.now()),
  });
  asking.close();
  await cluster.close();
});
