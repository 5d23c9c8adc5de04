import { describe, expect, it } from 'bun:test';
import { RedisAway } from '../../../src/engines/redis/link/reply.ts';
import { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { eventually } from '../../../testing/eventually.ts';
import { startRedis } from '../../../testing/servers/redis.ts';
import { TcpProxy } from '../../../testing/servers/tcp-proxy.ts';
import { DEADLINE_MS, openLink } from './link.fixture.ts';

/** A deadline, the second look after it, and what a busy machine adds. */
const NOTICED_MAX_MS = DEADLINE_MS + 30_000;

const append = new RedisScript("return redis.call('RPUSH', KEYS[1], ARGV[1])");
const count = new RedisScript("return redis.call('INCR', KEYS[1])");

async function open(options: { readonly waitingMax?: number; readonly deadlineMs?: number } = {}) {
  const stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const proxy = stack.use(await TcpProxy.start(redis.port));
  const link = stack.use(await openLink({ url: proxy.url, scripts: [append, count], ...options }));
  const { commands } = link.server;
  return { redis, proxy, link, commands, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** What a command was answered, as text. */
async function outcome(answer: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await answer);
  } catch (error) {
    if (error instanceof RedisAway) return error.mayHaveRun ? 'perhaps' : 'not run';
    return String(error);
  }
}

const isBack = (events: readonly string[]) => events.at(-1) === 'back';

describe('commands for Redis', () => {
  it.concurrent('reads every kind of reply', async () => {
    await using site = await open();
    const { commands } = site;
    const text = '"é" 😀\r\n\0';

    await commands.run(['SET', 'text', text]);
    await commands.run(['RPUSH', 'list', 'a', 2]);

    expect(await commands.run(['GET', 'text'])).toBe(text);
    expect(await commands.run(['GET', 'none'])).toBeNull();
    expect(await commands.run(['STRLEN', 'text'])).toBe(Buffer.byteLength(text));
    expect(await commands.run(['DECRBY', 'number', 2 ** 52])).toBe(-(2 ** 52));
    expect(await commands.run(['LRANGE', 'list', 0, -1])).toEqual(['a', '2']);
    expect(await commands.run(['LRANGE', 'none', 0, -1])).toEqual([]);
    expect(await outcome(commands.run(['INCR', 'text']))).toMatch(/ERR value is not an integer/);
    const deep = await commands.run([
      'EVAL',
      "return {1, {'b', {}}, redis.error_reply('NO way')}",
      0,
    ]);
    expect(deep).toEqual([1, ['b', []], expect.objectContaining({ code: 'NO' })]);
  });

  it.concurrent('reads replies of several megabytes', async () => {
    await using site = await open();
    const { commands } = site;
    const long = 'x'.repeat(5_000_000);
    await commands.run(['SET', 'long', long]);
    await commands.run([
      'RPUSH',
      'list',
      ...Array.from({ length: 50_000 }, (_, index) => `item ${index}`),
    ]);

    expect(await commands.run(['GET', 'long'])).toBe(long);
    expect(await commands.run(['LRANGE', 'list', 0, -1])).toHaveLength(50_000);
  });

  it.concurrent('sends everything of one turn of the loop as one write', async () => {
    await using site = await open();
    const { chunks } = site.proxy;

    await Promise.all(Array.from({ length: 500 }, () => site.commands.run(['INCR', 'n'])));

    expect(site.proxy.chunks - chunks).toBe(1);
  });

  it.concurrent('runs a command once whose reply is lost, and reports that it may have run', async () => {
    await using site = await open();
    site.proxy.doesSwallowReplies = true;
    const startedAtMs = performance.now();

    expect(await outcome(site.commands.run(['INCR', 'n']))).toBe('perhaps');

    expect(performance.now() - startedAtMs).toBeWithin(DEADLINE_MS, NOTICED_MAX_MS);
    site.proxy.doesSwallowReplies = false;
    await eventually(() => site.link.events, isBack);
    expect(await site.commands.run(['GET', 'n'])).toBe('1');
  });

  it.concurrent('loses what is in flight when the connection is cut, and sends what comes later on the next one', async () => {
    // However long a busy machine takes to connect again.
    const deadlineMs = 30_000;
    await using site = await open({ deadlineMs });
    await using direct = await openLink({ url: site.redis.url, deadlineMs });
    site.proxy.doesSwallowReplies = true;
    const inFlight = [1, 2, 3].map(() => outcome(site.commands.run(['INCR', 'n'])));
    await eventually(
      () => direct.server.commands.run(['GET', 'n']),
      (n) => n === '3',
    );

    site.proxy.cut();
    site.proxy.doesSwallowReplies = false;

    expect(await Promise.all(inFlight)).toEqual(['perhaps', 'perhaps', 'perhaps']);
    expect(site.link.server.away).toBeDefined();
    expect(await site.commands.run(['INCR', 'n'])).toBe(4);
    expect(site.link.server.away).toBeUndefined();
  });

  it.concurrent('notices a network that lets nothing through, and comes back', async () => {
    await using site = await open();
    site.proxy.stall();
    const startedAtMs = performance.now();

    expect(await outcome(site.commands.run(['INCR', 'n']))).toBe('perhaps');
    expect(performance.now() - startedAtMs).toBeWithin(DEADLINE_MS, NOTICED_MAX_MS);
    expect(await outcome(site.commands.run(['INCR', 'n']))).toBe('not run');

    site.proxy.resume();
    await eventually(() => site.link.events, isBack);
    expect(Number(await site.commands.run(['INCR', 'n']))).toBeWithin(1, 3);
  });

  it.concurrent('notices a Redis that hangs, and is back soon after it', async () => {
    await using site = await open();
    site.redis.signal('SIGSTOP');

    expect(await outcome(site.commands.run(['INCR', 'n']))).toBe('perhaps');
    expect(await outcome(site.commands.run(['INCR', 'n']))).toBe('not run');

    site.redis.signal('SIGCONT');
    await eventually(() => site.link.events, isBack);
    // The first one lay in a socket that we have closed: Redis may have run it or not, but never twice.
    expect(Number(await site.commands.run(['INCR', 'n']))).toBeWithin(1, 3);
  });

  it.concurrent('lets commands wait while Redis is away, but not for longer than the deadline', async () => {
    await using site = await open();
    site.proxy.doesRefuse = true;
    site.proxy.cut();
    await eventually(
      () => site.link.server.away,
      (away) => away !== undefined,
    );
    const startedAtMs = performance.now();

    expect(await outcome(site.commands.run(['INCR', 'n']))).toBe('not run');
    expect(performance.now() - startedAtMs).toBeWithin(DEADLINE_MS - 50, NOTICED_MAX_MS);

    site.link.onBack = () => void site.commands.run(['RPUSH', 'order', 'in onBack']);
    const waiting: Promise<string>[] = [];
    await eventually(() => {
      waiting.push(outcome(site.commands.run(['RPUSH', 'order', 'waited'])));
      site.proxy.doesRefuse = false;
      return site.link.events;
    }, isBack);
    await Promise.all(waiting);
    const [first, ...others] = (await site.commands.run(['LRANGE', 'order', 0, -1])) as string[];
    expect(first).toBe('in onBack');
    expect(new Set(others)).toEqual(new Set(['waited']));
  });

  it.concurrent('refuses a command at once when too many wait', async () => {
    await using site = await open({ waitingMax: 10 });
    site.redis.signal('SIGSTOP');
    const waiting = Array.from({ length: 10 }, () => outcome(site.commands.run(['INCR', 'n'])));

    const oneMore = outcome(site.commands.run(['INCR', 'n']));

    expect(await Promise.race([...waiting, oneMore])).toBe('not run');
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['perhaps']));
    site.redis.signal('SIGCONT');
    await eventually(() => site.link.events, isBack);
    expect(Number(await site.commands.run(['INCR', 'n']))).toBeGreaterThan(0);
  });

  it.concurrent('is back after a restart of Redis, with its scripts', async () => {
    await using site = await open();
    await site.commands.script(count, { keys: ['n'], args: [] });
    await site.redis.kill();
    expect(await outcome(site.commands.run(['PING']))).toMatch(/perhaps|not run/);

    await site.redis.start();

    await eventually(() => site.link.events, isBack);
    expect(await site.commands.script(count, { keys: ['n'], args: [] })).toBe(1);
  });

  it.concurrent('runs each script once and in order when Redis loses its scripts under load', async () => {
    await using site = await open();
    const { commands } = site;
    const answers: Promise<unknown>[] = [];
    for (let number = 0; number < 3_000; number += 1) {
      answers.push(commands.script(append, { keys: ['list'], args: [number] }));
      if (number % 500 === 250) answers.push(commands.run(['SCRIPT', 'FLUSH']));
      if (number % 50 === 0) await Bun.sleep(1);
    }
    await Promise.all(answers);

    const list = (await commands.run(['LRANGE', 'list', 0, -1])) as string[];
    expect(list.map(Number)).toEqual(Array.from({ length: 3_000 }, (_, number) => number));
  });

  it.concurrent('refuses writes of a full Redis, and continues', async () => {
    await using site = await open();
    await using direct = await openLink({ url: site.redis.url });
    await direct.server.commands.run(['CONFIG', 'SET', 'maxmemory', 1]);

    expect(await outcome(site.commands.script(append, { keys: ['list'], args: [1] }))).toMatch(
      /OOM/,
    );

    await eventually(
      () => site.link.server.away,
      (away) => away?.isRefused === true,
    );
    await direct.server.commands.run(['CONFIG', 'SET', 'maxmemory', 0]);
    await eventually(() => site.link.events, isBack);
    expect(await site.commands.script(append, { keys: ['list'], args: [1] })).toBe(1);
    expect(site.link.events).toEqual(['away', 'back']);
  });

  it.concurrent('rejects what has no reply when it is closed', async () => {
    await using site = await open();
    const answers = [1, 2].map(() => outcome(site.commands.run(['INCR', 'n'])));

    await site.link.server.close();

    expect(await Promise.all(answers)).toEqual(['perhaps', 'perhaps']);
    expect(await outcome(site.commands.run(['INCR', 'n']))).toBe('not run');
  });
});

it('does not blame Redis when this process itself was blocked', async () => {
  await using site = await open();
  const answer = outcome(site.commands.run(['INCR', 'n']));
  await new Promise((resolve) => setImmediate(resolve));

  Bun.sleepSync(3 * DEADLINE_MS);

  expect(await answer).toBe('1');
  await Bun.sleep(DEADLINE_MS);
  expect(site.link.events).toEqual([]);
});
