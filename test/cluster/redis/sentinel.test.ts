import { describe, expect, it } from 'bun:test';
import { eventually } from '../../../testing/eventually.ts';
import { freePort } from '../../../testing/servers/free-port.ts';
import { type OwnRedis, startRedis, startSentinel } from '../../../testing/servers/redis.ts';
import { openLink, type TestLink } from './link.fixture.ts';

/** The sentinels are asked every 3 s; the rest is what a busy machine adds. */
const FOLLOWED_MS_MAX = 60_000;

/** A primary with a replica, and one sentinel that knows both. */
async function open() {
  const stack = new AsyncDisposableStack();
  const primary = stack.use(await startRedis());
  const replica = stack.use(await startRedis(['--replicaof', '127.0.0.1', String(primary.port)]));
  const sentinel = stack.use(await startSentinel(primary.port));
  // The first address is of a sentinel that has ended.
  const url = `redis+sentinel://127.0.0.1:${await freePort()},127.0.0.1:${sentinel.port}/main`;
  const link = stack.use(await openLink({ url }));
  return { primary, replica, sentinel, link, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Runs a command of `redis-cli`, past everything that is tested. */
async function cli({ port }: OwnRedis, ...args: readonly string[]): Promise<string> {
  const child = Bun.spawn(['redis-cli', '-p', String(port), ...args], { stdout: 'pipe' });
  return (await new Response(child.stdout).text()).trim();
}

async function portOf({ server }: TestLink): Promise<number> {
  const reply = (await server.commands.run(['CONFIG', 'GET', 'port'])) as string[];
  return Number(reply[1]);
}

const knowsReplica = (info: string) => /slaves=1/.test(info);

/** Whether events reach the link, whatever server it uses. */
async function expectWorking(link: TestLink): Promise<void> {
  await link.server.subscriptions.follow('channel');
  expect(await link.server.commands.run(['PUBLISH', 'channel', 'heard'])).toBe(1);
  await eventually(
    () => link.messages.at(-1)?.[1],
    (payload) => payload === 'heard',
  );
}

const isBack = (events: readonly string[]) => events.at(-1) === 'back';

describe('a Redis server that sentinels name', () => {
  it.concurrent('is followed when the primary is killed', async () => {
    await using site = await open();
    expect(await portOf(site.link)).toBe(site.primary.port);
    await expectWorking(site.link);
    await eventually(() => cli(site.sentinel, 'INFO', 'sentinel'), knowsReplica);

    await site.primary.kill();

    await eventually(() => site.link.events, isBack);
    expect(await portOf(site.link)).toBe(site.replica.port);
    expect(site.link.events).toEqual(['away', 'gap', 'back']);
    await expectWorking(site.link);
  });

  it.concurrent('is followed when it hangs, and not left for the old one when that wakes up', async () => {
    await using site = await open();
    await eventually(() => cli(site.sentinel, 'INFO', 'sentinel'), knowsReplica);

    site.primary.signal('SIGSTOP');
    await eventually(() => site.link.events, isBack);
    site.primary.signal('SIGCONT');
    await Bun.sleep(5_000);

    expect(await portOf(site.link)).toBe(site.replica.port);
    await expectWorking(site.link);
  });

  it.concurrent('is followed although the old primary can still be reached and calls itself one', async () => {
    await using site = await open();
    await using other = await startRedis();
    await expectWorking(site.link);
    const startedAtMs = performance.now();

    await cli(site.sentinel, 'SENTINEL', 'REMOVE', 'main');
    await cli(site.sentinel, 'SENTINEL', 'MONITOR', 'main', '127.0.0.1', String(other.port), '1');

    await eventually(() => site.link.events, isBack);
    expect(performance.now() - startedAtMs).toBeLessThan(FOLLOWED_MS_MAX);
    expect(await portOf(site.link)).toBe(other.port);
    expect(await cli(site.primary, 'ROLE')).toStartWith('master');
    await expectWorking(site.link);
  });

  it.concurrent('that has become a replica is left at its first refusal', async () => {
    await using site = await open();
    await using other = await startRedis();
    // The sentinel does not know of this, and continues to name it.
    await cli(site.primary, 'REPLICAOF', '127.0.0.1', String(other.port));

    const failure = await site.link.server.commands.run(['SET', 'a', 1]).catch((error) => error);

    expect(failure.code).toBe('READONLY');
    expect(site.link.server.away).toBeDefined();
    await cli(site.primary, 'REPLICAOF', 'NO', 'ONE');
    await eventually(() => site.link.events, isBack);
    expect(await site.link.server.commands.run(['SET', 'a', 1])).toBe('OK');
  });

  it.concurrent('stays in use when no sentinel answers', async () => {
    await using site = await open();

    await site.sentinel.kill();
    await Bun.sleep(4_000);

    expect(site.link.events).toEqual([]);
    await expectWorking(site.link);
  });
});
