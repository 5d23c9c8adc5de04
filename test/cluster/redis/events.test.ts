import { afterAll, beforeAll, expect, it } from 'bun:test';
import type { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { EVENTS, NUMBER_DIGITS, PUBLISH } from '../../../src/engines/redis/scripts/events.ts';
import { testSeed } from '../../../testing/long-run.ts';
import { Random } from '../../../testing/random.ts';
import { type OwnRedis, startRedis } from '../../../testing/servers/redis.ts';

/** `EVENTS` beside `PUBLISH`, which publishes as servers of earlier releases do: one event in each call. */

const ROUNDS = 15;
const NUMBER = 1_790_000_000_000_000;
/** The topic that nobody holds. */
const NOBODY = 'a/nobody';
const TOPICS = ['a/news', 'a/né', 'b/news', NOBODY];
const NODE = '2:node';

let redis: OwnRedis;
let client: Bun.RedisClient;

beforeAll(async () => {
  redis = await startRedis();
  client = new Bun.RedisClient(redis.url);
});

afterAll(async () => {
  client.close();
  await redis[Symbol.asyncDispose]();
});

const send = (command: string, ...args: readonly (string | number)[]) =>
  client.send(command, args.map(String));

const call = ({ source }: RedisScript, keys: string, args: readonly (string | number)[]) =>
  send('EVAL', source, 1, keys, ...args);

interface Event {
  readonly topic: string;
  readonly message: string;
}

/** A partition with one node, and `hasOldNodes`: one of an earlier release. */
async function begin(keys: string, hasOldNodes: boolean): Promise<void> {
  await send('SET', `${keys}E`, 'epoch');
  await send('ZADD', `${keys}L`, '9e15', NODE);
  if (hasOldNodes) await send('SET', `${keys}GO`, 1);
  for (const topic of TOPICS) {
    if (topic !== NOBODY) await send('HSET', `${keys}T:${topic}`, '#', 1, '!', NUMBER);
  }
}

const appOf = ({ topic }: Event) => topic.slice(0, 1);

/** The events as groups of apps, in calls of any size. */
async function publishTogether(keys: string, events: readonly Event[], random: Random) {
  for (let from = 0; from < events.length; ) {
    const some = events.slice(from, from + random.between(1, 80));
    from += some.length;
    const args = [...Map.groupBy(some, appOf)].flatMap(([app, group]) => [
      keys,
      app,
      group.length,
      ...group.flatMap(({ topic, message }) => [
        `${keys}T:${topic}`,
        `${keys}t:${topic}`,
        `${Buffer.byteLength(topic)}:${NUMBER_DIGITS + Buffer.byteLength(message)}:${topic}`,
        message,
      ]),
    ]);
    await call(EVENTS, keys, args);
  }
}

/** What was published without its number, if that is a time. */
const withoutTime = (topic: string, published: string) =>
  topic === NOBODY ? published.replace(/^\d{16}/, 'some time') : published;

/** What a log has of each topic. Throws if it is not whole. */
function readLog(text: string): readonly (readonly string[])[] {
  const log = Buffer.from(text);
  const kept: (readonly [topic: string, published: string])[] = [];
  for (let at = 0; at < log.length; ) {
    const [head = '', topicBytes, bytes] = /^(\d+):(\d+):/.exec(log.toString('latin1', at)) ?? [];
    if (head === '') throw new Error(`no event at ${at} of ${text}`);
    const from = at + head.length + Number(topicBytes);
    const topic = log.toString('utf8', at + head.length, from);
    at = from + Number(bytes);
    kept.push([topic, withoutTime(topic, log.toString('utf8', from, at))]);
  }
  return TOPICS.map((topic) => kept.filter(([of]) => of === topic).map(([, text]) => text));
}

/** All that is kept in a partition. */
async function keptIn(keys: string) {
  const logOf = async (app: string) => {
    const chunks = (await send('LRANGE', `${keys}GL:${app}`, 0, -1)) as string[];
    const latest = (await send('GET', `${keys}GE:${app}`)) ?? '';
    return readLog([...chunks.map((chunk) => chunk.replace(/^\d+ /, '')), latest].join(''));
  };
  const names = ((await send('KEYS', `${keys}*`)) as string[]).map((name) =>
    name.slice(keys.length),
  );
  return {
    // Where a chunk ends differs, so the latest may be empty.
    names: names.filter((name) => !/^G[EL]:/.test(name)).toSorted(),
    topics: await Promise.all(TOPICS.map((topic) => send('HGETALL', `${keys}T:${topic}`))),
    logs: await Promise.all(['a', 'b'].map(logOf)),
    // Of all apps: those of one call are kept one app after the other.
    ofAll: readLog(String((await send('GET', `${keys}G1`)) ?? '')),
  };
}

it('events in one call leave the same keys and messages as events in calls of their own', async () => {
  const seed = testSeed();
  const random = new Random(seed);
  const messages: [string, string][] = [];
  const subscriber = await client.duplicate();
  const done = new Map<string, () => void>();
  const onMessage = (text: string, stream: string) => {
    if (stream === 'done') done.get(text)?.();
    else messages.push([stream, text]);
  };
  await subscriber.subscribe('done', onMessage);
  for (let round = 0; round < ROUNDS; round++) {
    const [one, other] = [`one${round}{1}`, `other${round}{1}`];
    const hasOldNodes = random.chance(0.3);
    await begin(one, hasOldNodes);
    await begin(other, hasOldNodes);
    for (const keys of [one, other]) {
      for (const topic of TOPICS) await subscriber.subscribe(`${keys}t:${topic}`, onMessage);
    }
    const events = Array.from({ length: random.between(1, 120) }, (_, n) => ({
      topic: random.pick(TOPICS),
      message: `e\nbackend\n{"é":"${n}${'x'.repeat(random.between(0, 400))}"}`,
    }));
    for (const { topic, message } of events) {
      await call(PUBLISH, one, [NODE, 'epoch', topic, message, '', '']);
    }
    await publishTogether(other, events, random);
    const isDone = new Promise<void>((resolve) => done.set(String(round), resolve));
    await send('PUBLISH', 'done', round);
    await isDone;
    expect([seed, round, await keptIn(other)]).toEqual([seed, round, await keptIn(one)]);
    const heardBy = (keys: string) =>
      TOPICS.map((topic) =>
        messages
          .filter(([stream]) => stream === `${keys}t:${topic}`)
          .map(([, text]) => withoutTime(topic, text)),
      );
    expect(heardBy(other)).toEqual(heardBy(one));
    const numbers = messages
      .filter(([stream]) => stream === `${other}t:${NOBODY}`)
      .map(([, text]) => Number.parseInt(text, 10));
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  }
  subscriber.close();
});
