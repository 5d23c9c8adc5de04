import { describe, expect, it } from 'bun:test';
import { eventually } from '../../../testing/eventually.ts';
import { settled } from '../../../testing/fake-time.ts';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { Random } from '../../../testing/random.ts';
import { startRedis } from '../../../testing/servers/redis.ts';
import { TcpProxy } from '../../../testing/servers/tcp-proxy.ts';
import { counted, DEADLINE_MS, openLink, SILENCE_MS } from './link.fixture.ts';

/** What a busy machine adds. */
const SLACK_MS = 30_000;
/** Within which 50,000 channels must be followed again; 0.3 s on an idle machine. */
const FOLLOWED_AGAIN_MS_MAX = 50_000;

async function open(options: { readonly silenceMs?: number } = {}) {
  const stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const proxy = stack.use(await TcpProxy.start(redis.port));
  const link = stack.use(await openLink({ url: proxy.url, ...options }));
  // Reaches Redis past the proxy.
  const other = stack.use(await openLink({ url: redis.url }));
  const publish = (channel: string, payload: string) =>
    other.server.commands.run(['PUBLISH', channel, payload]);
  const killSubscriber = () => other.server.commands.run(['CLIENT', 'KILL', 'TYPE', 'pubsub']);
  const { commands, subscriptions } = link.server;
  const dispose = () => stack.disposeAsync();
  return {
    ...{ redis, proxy, link, other, commands, subscriptions, publish, killSubscriber },
    [Symbol.asyncDispose]: dispose,
  };
}

type Site = Awaited<ReturnType<typeof open>>;

const isBack = (events: readonly string[]) => events.at(-1) === 'back';

/** The channels that Redis has subscribers of, without those of the probes. */
async function followedAtRedis(site: Site): Promise<readonly string[]> {
  const names = (await site.commands.run(['PUBSUB', 'CHANNELS', 'c:*'])) as string[];
  return names.sort();
}

describe('subscriptions at Redis', () => {
  it.concurrent('receive the messages of a channel from the confirmation on, until they are given up', async () => {
    await using site = await open();
    await site.subscriptions.follow('c:1');

    expect(await site.publish('c:1', 'é 😀')).toBe(1);
    await eventually(
      () => site.link.messages.length,
      (count) => count === 1,
    );
    expect(site.link.messages).toEqual([['c:1', 'é 😀']]);

    site.subscriptions.unfollow('c:1');
    await eventually(
      () => followedAtRedis(site),
      (names) => names.length === 0,
    );
    expect(await site.publish('c:1', 'missed')).toBe(0);
  });

  it.concurrent('are restored when their connection is killed under load, and the gap is reported first', async () => {
    await using site = await open();
    await Promise.all([1, 2, 3].map((number) => site.subscriptions.follow(`c:${number}`)));
    let isLoading = true;
    const load = (async () => {
      while (isLoading)
        await Promise.all([1, 2, 3].map((number) => site.publish(`c:${number}`, 'load')));
    })();

    for (let round = 1; round <= 3; round += 1) {
      await site.killSubscriber();
      await eventually(
        () => site.link.events,
        (events) => events.length === 3 * round,
      );
    }
    isLoading = false;
    await load;

    const round = ['away', 'gap', 'back'];
    expect(site.link.events).toEqual([...round, ...round, ...round]);
    const { meter } = site.link;
    expect(counted(meter, 'engineOutages')).toBe(3);
    // On a busy machine a new connection may be given up before it is used.
    const lost = counted(meter, 'engineConnectionsLost', 'subscriptions');
    expect(lost).toBeGreaterThanOrEqual(3);
    const followed = counted(meter, 'engineFollowedAgain');
    expect(followed).toBeGreaterThanOrEqual(9);
    expect(followed).toBeLessThanOrEqual(3 * lost);
    expect(await site.publish('c:2', 'last')).toBe(1);
    await eventually(
      () => site.link.messages.at(-1),
      (message) => message?.[1] === 'last',
    );
  });

  it.concurrent('report no gap when only the connection for commands is lost', async () => {
    await using site = await open();
    await site.subscriptions.follow('c:1');

    await site.other.server.commands.run(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);

    await eventually(() => site.link.events, isBack);
    expect(site.link.events).toEqual(['away', 'back']);
    expect(counted(site.link.meter, 'engineConnectionsLost', 'commands')).toBeGreaterThanOrEqual(1);
  });

  it.concurrent('are replaced when they fall silent while commands are answered', async () => {
    await using site = await open();
    await site.subscriptions.follow('c:1');
    site.proxy.stallThoseThatSent('SUBSCRIBE');
    const startedAtMs = performance.now();

    await eventually(() => site.link.events, isBack);

    // Silence, then the wait for the probe.
    expect(performance.now() - startedAtMs).toBeWithin(SILENCE_MS, 2 * SILENCE_MS + SLACK_MS);
    expect(site.link.events).toEqual(['away', 'gap', 'back']);
    expect(counted(site.link.meter, 'engineProbesUnanswered')).toBeGreaterThanOrEqual(1);
    expect(await site.publish('c:1', 'heard')).toBeGreaterThan(0);
    await eventually(
      () => site.link.messages.length,
      (count) => count === 1,
    );
  });

  it.concurrent('stay as they are as long as probes come back', async () => {
    await using site = await open();
    await Bun.sleep(4 * SILENCE_MS);
    expect(site.link.events).toEqual([]);
  });

  it.concurrent('notice that Redis has cut them at its output buffer limit', async () => {
    await using site = await open({ silenceMs: 20_000 });
    await site.subscriptions.follow('c:1');
    await site.commands.run(['CONFIG', 'SET', 'client-output-buffer-limit', 'pubsub 1mb 1mb 1']);
    site.proxy.stallThoseThatSent('SUBSCRIBE');
    const megabyte = 'x'.repeat(1_000_000);
    // What the kernel and the proxy hold comes on top.
    let receivers: unknown;
    for (let count = 0; count < 60 && receivers !== 0; count += 1) {
      receivers = await site.publish('c:1', megabyte);
    }
    expect(receivers).toBe(0);

    site.proxy.resume();

    await eventually(() => site.link.events, isBack);
    expect(site.link.events).toEqual(['away', 'gap', 'back']);
    expect(await site.publish('c:1', 'heard again')).toBe(1);
  });

  it.concurrent('that are asked for while Redis is away are followed when it is back', async () => {
    await using site = await open();
    site.proxy.doesRefuse = true;
    site.proxy.cut();
    await eventually(
      () => site.link.server.away,
      (away) => away !== undefined,
    );
    const followed = site.subscriptions.follow('c:1');
    const givenUp = site.subscriptions.follow('c:2').catch((error) => error.message);
    site.subscriptions.unfollow('c:2');
    expect(await givenUp).toBe('not followed');

    site.proxy.doesRefuse = false;

    await followed;
    expect(await followedAtRedis(site)).toEqual(['c:1']);
  });

  it.concurrent('that are given up and asked for again in one turn stay', async () => {
    await using site = await open();
    const { subscriptions } = site;
    for (const turns of [0, 1, 2]) {
      await subscriptions.follow('c:1');
      subscriptions.unfollow('c:1');
      for (let turn = 0; turn < turns; turn += 1) await settled();
      await subscriptions.follow('c:1');
      expect(await followedAtRedis(site)).toEqual(['c:1']);
    }
  });

  it.concurrent('notice a Redis that hangs, although nothing is asked of it', async () => {
    await using site = await open();
    site.redis.signal('SIGSTOP');
    const startedAtMs = performance.now();

    await eventually(
      () => site.link.events.length,
      (count) => count > 0,
    );

    expect(performance.now() - startedAtMs).toBeLessThan(SILENCE_MS + DEADLINE_MS + SLACK_MS);
    site.redis.signal('SIGCONT');
    await eventually(() => site.link.events, isBack);
  });

  it.concurrent('are what was asked for last, whatever is cut meanwhile', async () => {
    await using site = await open();
    const seed = testSeed();
    const random = new Random(seed);
    const wanted = new Set<string>();
    const followed = new Map<string, Promise<void>>();
    const ignore = () => undefined;
    for (let step = 0; step < runs(10_000, 300_000); step += 1) {
      const name = `c:${random.between(1, 3_000)}`;
      if (random.chance(0.55)) {
        wanted.add(name);
        followed.set(name, site.subscriptions.follow(name));
        followed.get(name)?.catch(ignore);
      } else {
        wanted.delete(name);
        site.subscriptions.unfollow(name);
      }
      if (random.chance(0.0005)) site.proxy.cut();
      if (random.chance(0.01)) await Bun.sleep(random.between(0, 3));
    }
    await eventually(
      () => site.link.server.away,
      (away) => away === undefined,
    );
    await Promise.all([...wanted].map((name) => followed.get(name)));

    const expected = [...wanted].sort();
    const found = await eventually(
      () => followedAtRedis(site),
      (names) => names.length === expected.length,
    );
    expect(found, `TEST_SEED=${seed}`).toEqual(expected);
    expect(site.subscriptions.size).toBe(expected.length);
  });
});

it('follows 50,000 channels again within the bound', async () => {
  await using site = await open();
  const names = Array.from({ length: 50_000 }, (_, number) => `c:${number}`);
  await Promise.all(names.map((name) => site.subscriptions.follow(name)));
  const startedAtMs = performance.now();

  await site.killSubscriber();

  await eventually(() => site.link.events, isBack);
  expect(performance.now() - startedAtMs).toBeLessThan(FOLLOWED_AGAIN_MS_MAX);
  expect((await followedAtRedis(site)).length).toBe(names.length);
});
