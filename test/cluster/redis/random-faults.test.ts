import { expect, it } from 'bun:test';
import { RedisAway } from '../../../src/engines/redis/link/reply.ts';
import { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { eventually } from '../../../testing/eventually.ts';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { Random } from '../../../testing/random.ts';
import { startRedis } from '../../../testing/servers/redis.ts';
import { TcpProxy } from '../../../testing/servers/tcp-proxy.ts';
import { DEADLINE_MS, openLink } from './link.fixture.ts';

const append = new RedisScript("return redis.call('RPUSH', KEYS[1], ARGV[1])");

it('runs a command once or not at all, in order, and reports which, whatever fails', async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  await using link = await openLink({ url: proxy.url, scripts: [append] });
  // Its subscriptions are killed as well, which holds its commands back for a moment.
  await using direct = await openLink({ url: redis.url, deadlineMs: 10_000 });
  const seed = testSeed();
  const random = new Random(seed);
  const answered: number[] = [];
  const notRun: number[] = [];
  const calls: Promise<void>[] = [];

  const call = async (number: number) => {
    try {
      await link.server.commands.script(append, { keys: ['list'], args: [number] });
      answered.push(number);
    } catch (error) {
      if (!(error instanceof RedisAway)) throw error;
      if (!error.mayHaveRun) notRun.push(number);
    }
  };
  const faults: readonly (() => unknown)[] = [
    () => proxy.cut(),
    () => proxy.stall(),
    () => proxy.stallThoseThatSent('SUBSCRIBE'),
    () => proxy.resume(),
    () => proxy.resume(),
    () => {
      proxy.doesSwallowReplies = true;
    },
    () => {
      proxy.doesRefuse = true;
    },
    () => direct.server.commands.run(['SCRIPT', 'FLUSH']),
    () => direct.server.commands.run(['CLIENT', 'KILL', 'TYPE', 'pubsub']),
  ];
  const mend = () => {
    proxy.resume();
    proxy.doesSwallowReplies = false;
    proxy.doesRefuse = false;
  };

  let number = 0;
  for (let fault = 0; fault < runs(40, 1_000); fault += 1) {
    const calmMs = random.between(0, DEADLINE_MS / 2);
    const endsAtMs = performance.now() + calmMs;
    while (performance.now() < endsAtMs) {
      for (let count = random.between(1, 20); count > 0; count -= 1) calls.push(call(number++));
      await Bun.sleep(random.between(0, 5));
    }
    if (random.chance(0.5)) mend();
    await random.pick(faults)();
  }
  mend();
  await Promise.all(calls);
  await eventually(
    () => link.server.away,
    (away) => away === undefined,
  );
  await call(number);

  const list = ((await direct.server.commands.run(['LRANGE', 'list', 0, -1])) as string[]).map(
    Number,
  );
  const ran = new Set(list);
  expect(ran.size, `TEST_SEED=${seed}`).toBe(list.length);
  expect(answered.filter((one) => !ran.has(one))).toEqual([]);
  expect(notRun.filter((one) => ran.has(one))).toEqual([]);
  // What has no answer may be run late, out of a connection that was given up.
  const known = new Set(answered);
  expect(list.filter((one) => known.has(one))).toEqual(answered);
  expect(answered).toEqual(answered.toSorted((a, b) => a - b));
  expect(answered.at(-1)).toBe(number);
}, 600_000);
