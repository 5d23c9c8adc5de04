import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { connect } from 'node:net';
import { partitionOf } from '../../src/engines/partition.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP } from '../../testing/servers/fanfare.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { View } from './view.ts';

/** What servers read again that were cut off from Redis: each app has its own share of the room. */

const LOUD = { id: 'loud', key: 'loud-key', secret: 'loud-secret' };
const CHANNEL = 'news';
const PARTITION = partitionOf(APP, CHANNEL);
const KEYS = `fanfare:{${PARTITION}}`;

/** A channel of the loud app in the partition of the quiet one, which anybody can find out. */
const BESIDE = Array.from({ length: 10_000 }, (_, n) => `c${n}`).find(
  (name) => partitionOf(LOUD, name) === PARTITION,
);

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster(2, {
    moreApps: [
      {
        ...{ id: LOUD.id, name: 'loud', keys: [{ key: LOUD.key, secret: LOUD.secret }] },
        limits: { eventDataBytes: 2_000_000 },
      },
    ],
  });
});
afterAll(() => cluster[Symbol.asyncDispose]());

function parts() {
  const [cutOff, other] = cluster.apps;
  const [proxy] = cluster.proxies;
  const [, server] = cluster.servers;
  if (cutOff === undefined || other === undefined || proxy === undefined || server === undefined) {
    throw new Error('There are two servers');
  }
  return { cutOff, other, proxy, loud: new TestApp(server, LOUD) };
}

/** Runs a command in the Redis of the cluster and returns the first line of the answer, without its type. */
async function command(...args: readonly string[]): Promise<string> {
  const socket = connect(cluster.redis.port, '127.0.0.1');
  const answer = Promise.withResolvers<string>();
  socket.once('data', (bytes) => answer.resolve(bytes.toString()));
  const text = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('');
  socket.write(`*${args.length}\r\n${text}`);
  const [line = ''] = (await answer.promise).split('\r\n');
  socket.destroy();
  return line.slice(1);
}

/** Sends events while the first server cannot reach Redis, and returns what a client of it gets in the end. */
async function cutOffWhile(view: View, work: () => Promise<void>): Promise<readonly string[]> {
  const { proxy, other } = parts();
  const before = view.eventsOf(CHANNEL).length;
  proxy.doesRefuse = true;
  proxy.cut();
  await work();
  proxy.doesRefuse = false;
  await other.trigger({ name: 'last', channel: CHANNEL, data: 'x' });
  await eventually(
    () => view.eventsOf(CHANNEL).slice(before),
    (events) => events.includes('last'),
  );
  return view.eventsOf(CHANNEL).slice(before);
}

describe('a client whose server was cut off from Redis', () => {
  it('gets what it missed, however much another app has published beside it', async () => {
    const { cutOff, other, loud } = parts();
    await using view = await View.open(cutOff);
    await view.enters(CHANNEL);
    const names = Array.from({ length: 10 }, (_, n) => `event-${n}`);
    const received = await cutOffWhile(view, async () => {
      for (const name of names) await other.trigger({ name, channel: CHANNEL, data: 'x' });
      for (let n = 0; n < 4; n++) {
        await loud.trigger({ name: 'e', channel: BESIDE, data: 'x'.repeat(1_000_000) });
      }
    });
    expect(received).toEqual([...names, 'last']);
    expect(cluster.servers[0]?.output.stderr).not.toContain('Clients may have missed events');
    // Of its four events, those that fit.
    expect(Number(await command('LLEN', `${KEYS}GL:${LOUD.id}`))).toBeLessThan(3);
  });

  it('is closed, so that it learns of it, if what it missed is no longer kept; others stay', async () => {
    const { cutOff, other, loud } = parts();
    await using stays = await cutOff.connect();
    await stays.subscribe(CHANNEL);
    const [server] = cluster.servers;
    if (server === undefined) throw new Error('There are two servers');
    await using misses = await new TestApp(server, LOUD).connect();
    await misses.subscribe(String(BESIDE));
    const { proxy } = parts();
    proxy.doesRefuse = true;
    proxy.cut();
    for (let n = 0; n < 4; n++) {
      await loud.trigger({ name: `e${n}`, channel: BESIDE, data: 'x'.repeat(1_000_000) });
    }
    await other.trigger({ name: 'kept', channel: CHANNEL, data: 'x' });
    proxy.doesRefuse = false;
    expect(await misses.closed).toMatchObject({
      code: 4200,
      reason: 'Events may have been missed, please reconnect',
    });
    expect(await stays.receive()).toMatchObject({ event: 'kept' });
    await stays.receiveNothing();
  });

  it('gets what servers of an earlier release publish, once, and they find what this one publishes', async () => {
    const { cutOff, other } = parts();
    await using view = await View.open(cutOff);
    await view.enters(CHANNEL);
    // Servers of earlier releases have leases with other names, and publish like this.
    await command('ZADD', `${KEYS}L`, String(Date.now() + 60_000), crypto.randomUUID());
    await eventually(
      () => command('EXISTS', `${KEYS}GO`),
      (found) => found === '1',
    );
    const publish = `
      local topic = ARGV[1]
      local message = redis.call('HINCRBY', KEYS[1] .. 'T:' .. topic, '!', 1)
      message = string.format('%.0f', message) .. ARGV[2]
      redis.call('PUBLISH', KEYS[1] .. 't:' .. topic, message)
      redis.call('APPEND', KEYS[1] .. 'G1', #topic .. ':' .. #message .. ':' .. topic .. message)
      return 1`;
    const frame = JSON.stringify({ event: 'of-before', channel: CHANNEL, data: 'x' });
    const received = await cutOffWhile(view, async () => {
      await other.trigger({ name: 'of-now', channel: CHANNEL, data: 'x' });
      await command('EVAL', publish, '1', KEYS, `${APP.id}/${CHANNEL}`, `e\n\n${frame}`);
      await other.trigger({ name: 'of-now-too', channel: CHANNEL, data: 'x' });
    });
    expect(received).toEqual(['of-now', 'of-before', 'of-now-too', 'last']);
    const kept = await command('STRLEN', `${KEYS}G1`);
    expect(Number(kept)).toBeGreaterThan(3 * frame.length);
  });
});
