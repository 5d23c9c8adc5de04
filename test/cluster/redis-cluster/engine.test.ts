import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import { partitionOf } from '../../../src/engines/partition.ts';
import { SLOTS } from '../../../src/engines/redis/link/cluster/slots.ts';
import { RedisAway } from '../../../src/engines/redis/link/reply.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type RedisCluster, startRedisCluster } from '../../../testing/servers/redis-cluster.ts';
import { app } from '../../contracts/redis-node.ts';
import { channel } from '../../contracts/values.ts';
import { type ClusterNodeLoop, documentedRights, openLoop } from './engines.fixture.ts';

/** Two loops over a real Redis Cluster that changes. */

const CHANNELS = Array.from({ length: 48 }, (_, n) => `presence-room-${n}`);
const USERS = ['ann', 'bob'];

let cluster: RedisCluster;
let loops: readonly [ClusterNodeLoop, ClusterNodeLoop];
let problems: unknown[];

beforeAll(async () => {
  const user = (name: string, ...more: readonly string[]) => [
    ...['--user', name, 'on', '>SECRET', ...documentedRights(), ...more],
  ];
  cluster = await startRedisCluster({
    options: [...user('fanfare'), ...user('timeless', '-time')],
  });
  problems = [];
  const openAs = async (number: number, name: string) =>
    await openLoop(number, cluster.url.replace('//', `//${name}:SECRET@`), problems);
  // One of the servers may not ask for the time, also not in scripts.
  loops = [await openAs(1, 'fanfare'), await openAs(2, 'timeless')];
  for (const text of CHANNELS) {
    for (const [n, { node }] of loops.entries()) await node.join(text, USERS[n]);
  }
}, 180_000);
afterAll(async () => {
  for (const loop of loops) await loop[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const clients = () => loops.flatMap(({ node }) => [...node.clients]);

/** Publishes to all channels, over both loops in turns, until `end` is called. Returns the events that were accepted, by channel. */
function publishing(pauseMs = 20) {
  const accepted = new Map(CHANNELS.map((text): [string, string[]] => [text, []]));
  const refused: Error[] = [];
  let isOver = false;
  let count = 0;
  const work = CHANNELS.map(async (text, n) => {
    while (!isOver) {
      const event = `event-${count++}`;
      const { node } = loops[n % 2] ?? loops[0];
      await node.publish(text, event).then(
        () => accepted.get(text)?.push(event),
        (error) => refused.push(error),
      );
      await Bun.sleep(pauseMs * 10);
    }
  });
  return {
    refused,
    accepted,
    async end() {
      isOver = true;
      await Promise.all(work);
    },
  };
}

/** Expects that all clients have seen what was accepted once, in one order, and no change of a member. */
async function expectAllSeen(accepted: ReadonlyMap<string, readonly string[]>): Promise<void> {
  for (const client of clients()) {
    const wanted = accepted.get(client.text) ?? [];
    const seen = () => client.events.filter((event) => wanted.includes(event));
    await eventually(seen, (events) => events.length >= wanted.length);
    expect(seen()).toEqual([...wanted]);
  }
  for (const text of CHANNELS) {
    const [one, other] = clients().filter((client) => client.text === text);
    expect(one?.events).toEqual(other?.events ?? []);
    expect([...(one?.members ?? [])].toSorted()).toEqual(USERS);
  }
  expect(problems).toEqual([]);
}

/** Settles when lists are answered again. */
async function untilComplete(): Promise<void> {
  for (const { engine } of loops) {
    for (const text of CHANNELS) {
      await eventually(
        async () => await engine.members(app, channel(text)).catch(() => undefined),
        (members) => members?.length === 2,
      );
    }
  }
}

beforeEach(() => {
  for (const client of clients()) client.events.splice(0);
});

describe('an engine over a Redis Cluster', () => {
  it('lies in 16 slots, and publishes in its shards only', async () => {
    const { accepted, end } = publishing();
    await eventually(
      () => accepted.get(CHANNELS[0] ?? '')?.length ?? 0,
      (count) => count > 2,
    );
    await end();
    await expectAllSeen(accepted);
    for (const node of cluster.nodes) {
      const keys = (await node.run('KEYS', '*')) as string[];
      expect(keys.filter((key) => !key.startsWith('fanfare:{'))).toEqual([]);
      const stats = String(await node.run('INFO', 'commandstats'));
      expect(stats).not.toMatch(/cmdstat_(?:publish|subscribe|asking):/);
      const master = String(((await node.run('ROLE')) as unknown[])[0]) === 'master';
      if (master) expect(stats).toMatch(/cmdstat_evalsha:/);
    }
    const slots = new Set<number>();
    for (const node of cluster.nodes) {
      for (const key of (await node.run('KEYS', '*')) as string[]) {
        slots.add(Number(await node.run('CLUSTER', 'KEYSLOT', key)));
      }
    }
    expect([...slots].toSorted((a, b) => a - b)).toEqual(SLOTS.map(({ number }) => number));
    // Under what scripts declare, no value lies.
    expect(await cluster.nodes[0]?.run('EXISTS', 'fanfare:{18}0:')).toBe(0);
  });

  it('joins values in each of its slots, whichever loop a piece comes from', async () => {
    for (let n = 0; n < 24; n++) {
      const name = channel(`cache-value-${n}`);
      let length = 0;
      for (const [piece, { engine }] of [...loops, ...loops].entries()) {
        const text = `${piece}é`;
        const appended = await engine.append({
          app,
          channel: name,
          name: 'answer',
          piece: { id: 'm1', at: length, text, isLast: piece === 3 },
          bytesMax: 1000,
        });
        length += 2;
        expect(appended).toMatchObject({ result: 'sent', length });
      }
      const cached = await loops[n % 2 === 0 ? 0 : 1].engine.cached(app, name);
      expect(cached?.data).toBe('{"id":"m1","at":0,"text":"0é1é2é3é","end":true}');
    }
  });

  it('keeps all that it has while a replica takes over', async () => {
    const lost = loops.map(({ counted }) => counted('engineDataLost'));
    const { accepted, end } = publishing();
    const master = await cluster.masterOf(SLOTS[0]?.number ?? 0);
    await cluster.failOver(master);
    await eventually(
      () => loops.every(({ away }) => away.size === 0),
      (isBack) => isBack,
    );
    const counts = [...accepted.values()].map(({ length }) => length);
    await eventually(
      () => [...accepted.values()].every(({ length }, n) => length > (counts[n] ?? 0) + 1),
      (all) => all,
    );
    await end();
    await untilComplete();
    await expectAllSeen(accepted);
    expect(loops.map(({ counted }) => counted('engineDataLost'))).toEqual(lost);
  });

  it('keeps all that it has while slots are moved', async () => {
    const lost = loops.map(({ counted }) => counted('engineDataLost'));
    const { accepted, refused, end } = publishing();
    const from = await cluster.masterOf(SLOTS[0]?.number ?? 0);
    const to = await cluster.masterOf(SLOTS[15]?.number ?? 0);
    for (const { number } of SLOTS.slice(0, 3)) await cluster.moveSlot(number, to);
    for (const { number } of SLOTS.slice(0, 3)) await cluster.moveSlot(number, from);
    const added = await cluster.addMaster();
    await cluster.moveSlot(SLOTS[0]?.number ?? 0, added);
    await eventually(
      () => loops.every(({ away }) => away.size === 0),
      (isBack) => isBack,
    );
    await end();
    await untilComplete();
    await expectAllSeen(accepted);
    expect(loops.map(({ counted }) => counted('engineDataLost'))).toEqual(lost);
    // Nothing was sent whose answer is not known. What has waited for too long has no cause.
    const isUnclear = ({ cause }: Error) => !(cause instanceof RedisAway) || cause.mayHaveRun;
    expect(refused.filter((error) => error.cause !== undefined && isUnclear(error))).toEqual([]);
  });

  it('serves all other channels while a killed master is replaced', async () => {
    const victim = await cluster.masterOf(SLOTS[8]?.number ?? 0);
    const slots = new Set(await cluster.slotsOf(victim));
    const isHere = (text: string) => {
      const slot = SLOTS[partitionOf(app, text) % SLOTS.length];
      return slot !== undefined && slots.has(slot.number);
    };
    const others = CHANNELS.filter((text) => !isHere(text));
    const here = CHANNELS.filter(isHere);
    expect(others.length).toBeGreaterThan(0);
    expect(here.length).toBeGreaterThan(0);
    await victim.kill();
    const promoted = cluster.promoted(SLOTS[8]?.number ?? 0, victim);
    for (const text of others) await loops[0].node.publish(text, 'meanwhile');
    await promoted;
    await eventually(
      () => loops.every(({ away }) => away.size === 0),
      (isBack) => isBack,
    );
    for (const text of here) await loops[0].node.publish(text, 'afterwards');
    await untilComplete();
    for (const client of clients()) {
      const wanted = isHere(client.text) ? 'afterwards' : 'meanwhile';
      await eventually(
        () => client.events,
        (events) => events.includes(wanted),
      );
      expect(client.events.filter((event) => event === wanted)).toHaveLength(1);
      expect([...client.members].toSorted()).toEqual(USERS);
    }
    expect(problems).toEqual([]);
  });
});
