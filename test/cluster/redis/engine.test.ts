import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import type { Audience } from '../../../src/channels/ports.ts';
import { PARTITIONS } from '../../../src/engines/partition.ts';
import { createRedisEngine } from '../../../src/engines/redis/create-engine.ts';
import { type OwnRedis, startRedis } from '../../../testing/servers/redis.ts';
import { TcpProxy } from '../../../testing/servers/tcp-proxy.ts';
import { partsOfLoop, silent } from '../../contracts/loop-parts.ts';
import { RedisLoops } from '../../contracts/redis-loops.ts';
import { app, type Client, Node } from '../../contracts/redis-node.ts';
import { channel } from '../../contracts/values.ts';
import { counted } from './link.fixture.ts';

/** Two nodes over a Redis that fails: what their clients are sent, and what webhooks are. */

const ROOM = 'presence-room';
const LINK_TIMES = { deadlineMs: 500, silenceMs: 1000 };

let redis: OwnRedis;
let proxy: TcpProxy;
let cluster: RedisLoops;
let problems: unknown[];
/** Reaches Redis itself. */
let near: Node;
/** Reaches Redis through the proxy. */
let far: Node;

async function addNode(number: number, url: string): Promise<Node> {
  const node = new Node(number, problems);
  node.loop = await cluster.add({ audience: node as unknown as Audience, urls: [url] });
  return node;
}

beforeEach(async () => {
  redis = await startRedis();
  proxy = await TcpProxy.start(redis.port);
  cluster = new RedisLoops([redis.url], [app], LINK_TIMES);
  problems = [];
  near = await addNode(1, redis.url);
  far = await addNode(2, proxy.url);
  await near.join(ROOM, 'ann');
  await near.join(ROOM, 'bob');
  await far.join(ROOM, 'ann');
  await far.join(ROOM, 'eve');
  // After this long, a node may sweep others.
  await cluster.advance(12_000);
  expect(views()).toEqual(Array(4).fill('ann bob eve'));
  cluster.reported();
});

afterEach(async () => {
  await cluster.close();
  await proxy[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

/** The members that each client of the room knows. */
function views(nodes: readonly Node[] = [near, far]): readonly string[] {
  return nodes.flatMap(({ clients }) =>
    [...clients].map(({ members }) => [...members].toSorted().join(' ')),
  );
}

function clientOf(node: Node, userId: string) {
  const client = [...node.clients].find((one) => one.userId === userId);
  if (client === undefined) throw new Error(`${userId} is not here`);
  return client;
}

const isUp = ({ loop }: Node) => loop.servers.every(({ away }) => away === undefined);

/** Advances the clock until a condition holds. */
async function until(is: () => boolean): Promise<void> {
  const endMs = performance.now() + 20_000;
  while (!is()) {
    if (performance.now() > endMs) throw new Error('The condition does not hold after 20 s');
    await cluster.advance(100);
    await Bun.sleep(10);
  }
}

const reported = () =>
  cluster
    .reported()
    .map(({ event }) => `${event.name}${'user_id' in event ? ` ${event.user_id}` : ''}`);

describe('a node that is cut off from Redis', () => {
  it('is swept after its lease, loses its members once, and comes back with all it holds', async () => {
    proxy.doesRefuse = true;
    proxy.cut();
    await until(() => !isUp(far));
    await cluster.advance(20_000);
    expect(views([near])).toEqual(['ann bob', 'ann bob']);
    expect(reported()).toEqual(['member_removed eve']);
    // Its own clients are sent nothing of this.
    expect(views([far])).toEqual(['ann bob eve', 'ann bob eve']);

    proxy.doesRefuse = false;
    await until(() => isUp(far));
    await cluster.advance(5000);
    expect(views()).toEqual(Array(4).fill('ann bob eve'));
    expect(reported()).toEqual(['member_added eve']);
    expect(problems).toEqual([]);
    // Each node has a lease in each partition.
    expect(counted(near.loop.meter, 'engineLeasesSwept')).toBe(PARTITIONS);
    expect(counted(far.loop.meter, 'engineLeasesLost')).toBe(PARTITIONS);
    expect(counted(far.loop.meter, 'engineDataLost')).toBe(0);
    expect(counted(far.loop.meter, 'engineGaps')).toBe(1);
  });

  it('states what was left meanwhile, and sends its clients what they missed', async () => {
    proxy.doesRefuse = true;
    proxy.cut();
    await until(() => !isUp(far));
    await far.leave(clientOf(far, 'eve'));
    await near.leave(clientOf(near, 'bob'));
    await near.join(ROOM, 'dan');
    proxy.doesRefuse = false;
    await until(() => isUp(far));
    await cluster.advance(3000);
    expect(views()).toEqual(Array(3).fill('ann dan'));
    expect(await far.loop.engine.counts(app, channel(ROOM))).toEqual({
      subscriptions: 3,
      users: 2,
    });
    await cluster.advance(5000);
    expect(reported().toSorted()).toEqual([
      'member_added dan',
      'member_removed bob',
      'member_removed eve',
    ]);
    expect(problems).toEqual([]);
  });
});

describe('a Redis that has lost its data', () => {
  it('gets all of it again, without an event for those who were there all along', async () => {
    await redis.kill();
    await until(() => !isUp(near) && !isUp(far));
    await near.leave(clientOf(near, 'bob'));
    await redis.start();
    await until(() => isUp(near) && isUp(far));
    await cluster.advance(3000);
    // Nobody can know yet that bob is not on a node that has not come back.
    expect(views([far])).toEqual(['ann bob eve', 'ann bob eve']);
    await near.join(ROOM, 'dan');
    await cluster.advance(12_000);
    expect(views()).toEqual(Array(4).fill('ann dan eve'));
    expect(reported()).toEqual(['member_removed bob', 'member_added dan']);
    expect(counted(near.loop.meter, 'engineDataLost')).toBe(PARTITIONS);
    expect(counted(near.loop.meter, 'engineLeasesLost')).toBe(0);
    expect(await far.loop.engine.counts(app, channel(ROOM))).toEqual({
      subscriptions: 4,
      users: 3,
    });
    expect(problems).toEqual([]);
  });

  it('is not asked for lists before all nodes have had the time to state them', async () => {
    await redis.kill();
    await until(() => !isUp(near) && !isUp(far));
    await expect(near.loop.engine.counts(app, channel(ROOM))).rejects.toThrow('Redis is away');
    await redis.start();
    await until(() => isUp(near) && isUp(far));
    let refusal = '';
    // At first they are busy stating what they hold.
    for (let n = 0; n < 50 && !refusal.includes('lost data'); n++) {
      await cluster.advance(100);
      refusal = await near.loop.engine.counts(app, channel(ROOM)).then(String, String);
    }
    expect(refusal).toContain('lost data');
    await cluster.advance(12_000);
    expect(await near.loop.engine.counts(app, channel(ROOM))).toEqual({
      subscriptions: 4,
      users: 3,
    });
  });
});

describe('a Redis that hangs', () => {
  it('fails publishes in time, lets joins wait, and declares nobody dead', async () => {
    redis.signal('SIGSTOP');
    const published = near.publish(ROOM, 'lost').then(
      () => 'sent',
      () => 'failed',
    );
    const joined = near.join(ROOM, 'dan');
    await until(() => !isUp(near) && !isUp(far));
    await cluster.advance(3000);
    expect(await published).toBe('failed');
    expect(counted(near.loop.meter, 'enginePublishesRefused')).toBe(1);
    await far.leave(clientOf(far, 'eve'));
    await cluster.advance(20_000);
    redis.signal('SIGCONT');
    await until(() => isUp(near) && isUp(far));
    await cluster.advance(2000);
    await joined;
    expect(views()).toEqual(Array(4).fill('ann bob dan'));
    await cluster.advance(5000);
    expect(reported().toSorted()).toEqual(['member_added dan', 'member_removed eve']);
    expect(problems).toEqual([]);
  });
});

describe('subscriptions that are cut', () => {
  it('are followed again, and clients are sent what they missed', async () => {
    const [server] = near.loop.servers;
    await server?.commands.run(['CLIENT', 'KILL', 'TYPE', 'pubsub']);
    await near.leave(clientOf(near, 'bob'));
    await near.join(ROOM, 'dan');
    await until(() => isUp(near) && isUp(far));
    await cluster.advance(3000);
    expect(views()).toEqual(Array(4).fill('ann dan eve'));
    expect(problems).toEqual([]);
  });

  it('cost no client the right count, whatever it has missed', async () => {
    await far.join('news', undefined);
    await near.join('news', undefined);
    await near.join('news', undefined);
    await cluster.settled();
    const reader = [...far.clients].find(({ text }) => text === 'news');
    expect(reader?.count).toBe(3);
    // Only the connection that receives the counts is cut.
    proxy.stallThoseThatSent('SUBSCRIBE');
    const leaving = [...near.clients].find(({ text }) => text === 'news');
    if (leaving !== undefined) await near.leave(leaving);
    await until(() => reader?.count === 2);
    expect(problems).toEqual([]);
  });
});

describe('events that are published while a node receives nothing', () => {
  const eventsAt = (node: Node) => [...node.clients].map(({ events }) => events);
  /** Publishes events of about 10 kB, and returns their names. */
  const publishMany = async (text: string, count: number) => {
    const names = Array.from({ length: count }, (_, n) => `event-${n}-${'x'.repeat(10_000)}`);
    for (const name of names) await near.publish(text, name);
    return names;
  };
  const cutOff = async () => {
    proxy.doesRefuse = true;
    proxy.cut();
    await until(() => !isUp(far));
  };
  const comeBack = async () => {
    proxy.doesRefuse = false;
    await until(() => isUp(far));
    await cluster.advance(3000);
  };

  it('are sent to its clients when it is back, in order and once', async () => {
    await near.publish(ROOM, 'before');
    await cluster.settled();
    await cutOff();
    // More than one page.
    const names = await publishMany(ROOM, 30);
    await near.join(ROOM, 'dan');
    await near.publish(ROOM, 'last');
    await comeBack();
    const all = ['before', ...names, 'last'];
    expect(eventsAt(far)).toEqual([all, all]);
    expect(views()).toEqual(Array(5).fill('ann bob dan eve'));
    await near.publish(ROOM, 'after');
    await cluster.settled();
    expect(eventsAt(far)).toEqual([
      [...all, 'after'],
      [...all, 'after'],
    ]);
    expect(problems).toEqual([]);
  });

  it('are sent among the changes of members, as everybody else has seen both', async () => {
    const seenBy = ({ seen }: Client) => seen.slice(seen.indexOf('before'));
    const seenAt = (node: Node) => [...node.clients].map(seenBy);
    await near.publish(ROOM, 'before');
    await cluster.settled();
    await cutOff();
    await near.leave(clientOf(near, 'bob'));
    await near.publish(ROOM, 'bob-left');
    await near.join(ROOM, 'dan');
    await near.publish(ROOM, 'dan-came');
    await near.leave(clientOf(near, 'dan'));
    await near.publish(ROOM, 'dan-left');
    await near.join(ROOM, 'dan');
    await near.publish(ROOM, 'dan-returned');
    await comeBack();
    const changes = ['-bob', 'bob-left', '+dan', 'dan-came', '-dan', 'dan-left', '+dan'];
    const all = ['before', ...changes, 'dan-returned'];
    expect(seenBy(clientOf(near, 'ann'))).toEqual(all);
    expect(seenAt(far)).toEqual([all, all]);
    // Its lease ends, so others take its members for gone.
    await cutOff();
    await cluster.advance(20_000);
    await near.publish(ROOM, 'eve-swept');
    await comeBack();
    await cluster.advance(3000);
    const later = [...all, '-eve', 'eve-swept', '+eve'];
    expect(seenBy(clientOf(near, 'ann'))).toEqual(later);
    expect(seenAt(far)).toEqual([later, later]);
    expect(problems).toEqual([]);
  });

  it('are sent also if others thought that nobody is in the channel any more', async () => {
    await far.join('its-own', undefined);
    await cutOff();
    await cluster.advance(30_000);
    expect(await near.loop.engine.counts(app, channel('its-own'))).toEqual({
      subscriptions: 0,
      users: 0,
    });
    await near.publish('its-own', 'lonely');
    await comeBack();
    await near.publish('its-own', 'after');
    await cluster.settled();
    expect(eventsAt(far)).toEqual([[], [], ['lonely', 'after']]);
  });

  it('are kept up to 1 to 2 MB for each partition, the newest first', async () => {
    await cutOff();
    const names = await publishMany(ROOM, 320);
    await comeBack();
    const [received = []] = eventsAt(far);
    expect(received.length).toBeGreaterThan(100);
    expect(received.length).toBeLessThan(220);
    expect(received).toEqual(names.slice(-received.length));
  });
});

describe('events that wait for a call', () => {
  it('come before what the same loop states after them', async () => {
    await near.publish(ROOM, 'first');
    const names = Array.from({ length: 300 }, (_, n) => `event-${n}`);
    const published = names.map((name) => near.publish(ROOM, name));
    // In the same turn.
    const left = near.leave(clientOf(near, 'bob'));
    const later = near.publish(ROOM, 'last');
    await Promise.all([...published, left, later]);
    await cluster.settled();
    for (const { seen } of far.clients) {
      expect(seen.slice(seen.indexOf('first'))).toEqual(['first', ...names, '-bob', 'last']);
    }
    expect(problems).toEqual([]);
  });
});

describe('a Redis without memory', () => {
  it('fails publishes and lets joins wait until there is some', async () => {
    // Commands of the nodes wait while Redis refuses scripts.
    const client = new Bun.RedisClient(redis.url);
    const setMemory = (max: string) => client.send('CONFIG', ['SET', 'maxmemory', max]);
    await setMemory('1');
    const joined = near.join(ROOM, 'dan');
    await expect(near.publish(ROOM, 'lost')).rejects.toThrow('Redis has not answered');
    await cluster.advance(2000);
    expect(views()).toEqual(Array(4).fill('ann bob eve'));
    await setMemory('0');
    await until(() => isUp(near) && isUp(far));
    await cluster.advance(2000);
    await joined;
    client.close();
    expect(views()).toEqual(Array(5).fill('ann bob dan eve'));
    expect(problems).toEqual([]);
  });
});

describe('scripts that Redis has forgotten', () => {
  it('are loaded again', async () => {
    await near.loop.servers[0]?.commands.run(['SCRIPT', 'FLUSH']);
    await Promise.all([near.join(ROOM, 'dan'), far.publish(ROOM, 'event')]);
    await cluster.settled();
    expect(views()).toEqual(Array(5).fill('ann bob dan eve'));
    expect(problems).toEqual([]);
  });
});

describe('nodes of another layout', () => {
  it('are refused, so that the state is never split', async () => {
    const open = async (urls: readonly string[]) => {
      const engine = createRedisEngine({
        ...partsOfLoop(cluster.clock, []),
        urls,
        keyPrefix: 'layout-test:',
        apps: { byId: () => app, byKey: () => undefined },
        log: silent,
      });
      await engine.start().catch(async (error) => {
        await engine.close();
        throw error;
      });
      return engine;
    };
    const first = await open([redis.url]);
    await expect(open([redis.url, redis.url])).rejects.toThrow(
      'Redis holds data of another layout',
    );
    const second = await open([redis.url]);
    await first.close();
    await second.close();
  });
});
