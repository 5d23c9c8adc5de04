import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { SLOTS } from '../../../src/engines/redis/link/cluster/slots.ts';
import { RedisConnector } from '../../../src/engines/redis/link/connector.ts';
import { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { monotonicTimers } from '../../../src/runtime/system-timers.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type RedisCluster, startRedisCluster } from '../../../testing/servers/redis-cluster.ts';
import { silent } from '../../contracts/loop-parts.ts';
import { counted, openLink, type TestLink } from '../redis/link.fixture.ts';

/** The connections to one slot of a real cluster, while the slot changes its master. */

const SLOT = SLOTS[2] ?? { number: 0, tag: '' };
const PREFIX = `fanfare:{${SLOT.tag}}`;
const KEY = `${PREFIX}18:a`;
/** Runs on a key that it does not declare, as the scripts of the engine do. */
const APPEND = new RedisScript("return redis.call('APPEND', KEYS[1] .. 'a', ARGV[1])");
const STREAM = `${PREFIX}18:t:news`;
/** Longer than any step of a change, so that nothing is given up on a busy machine. */
const PATIENT_MS = 20_000;

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startRedisCluster();
}, 180_000);
afterAll(() => cluster[Symbol.asyncDispose]());

function open(deadlineMs = PATIENT_MS): Promise<TestLink> {
  const url = cluster.url;
  const map = new RedisConnector({ url, timers: monotonicTimers, log: silent }).clusterMap();
  return openLink({ url, slot: { ...SLOT, map }, prefix: PREFIX, deadlineMs });
}

/** Another master than that of the slot. */
async function otherMaster() {
  const [, last] = [SLOTS[2], SLOTS[15]];
  const masters = await Promise.all(
    [SLOTS[0], SLOTS[8], last].map((slot) => cluster.masterOf(slot?.number ?? 0)),
  );
  const own = await cluster.masterOf(SLOT.number);
  const other = masters.find((master) => master !== own);
  if (other === undefined) throw new Error('There is one master only');
  return other;
}

async function expectWorking(link: TestLink, payload: string): Promise<void> {
  expect(await link.server.commands.run(['SPUBLISH', STREAM, payload])).toBe(1);
  await eventually(
    () => link.messages.at(-1)?.[1],
    (last) => last === payload,
  );
}

const isBack = (events: readonly string[]) => events.at(-1) === 'back';

describe('a slot of a Redis Cluster', () => {
  it('is served by its master, which need not be the one that the URL names', async () => {
    await using link = await open();
    await link.server.subscriptions.follow(STREAM);
    await expectWorking(link, 'heard');
    const own = await cluster.masterOf(SLOT.number);
    expect(await own.run('PUBSUB', 'SHARDNUMSUB', STREAM)).toEqual([STREAM, 1]);
    expect(await own.run('PUBSUB', 'CHANNELS')).toEqual([]);
  });

  it('refuses nothing while it is moved quickly: commands wait, then run once, in order', async () => {
    await using link = await open();
    const { commands } = link.server;
    await link.server.subscriptions.follow(STREAM);
    const append = (text: string) =>
      commands.script(APPEND, { keys: [`${PREFIX}18:`], args: [text] });
    await append('0');
    const { dataId, serverId } = link.server;
    const other = await otherMaster();
    const end = await cluster.beginMove(SLOT.number, other);
    const appended = ['1', '2', '3'].map(append);
    await eventually(
      () => counted(link.meter, 'engineRedirects', 'moving'),
      (count) => count > 3,
    );
    expect(link.events).toEqual([]);
    await end();
    expect(await Promise.all(appended)).toEqual([2, 3, 4]);
    expect(await other.run('GET', KEY)).toBe('0123');
    await eventually(() => link.events, isBack);
    await expectWorking(link, 'after');
    // Another process with the same data.
    expect(link.server.serverId).not.toBe(serverId);
    expect(link.server.dataId).toBe(dataId);
  });

  it('is away while it is moved slowly, and says so', async () => {
    await using link = await open(500);
    const other = await otherMaster();
    const end = await cluster.beginMove(SLOT.number, other);
    const missing = link.server.commands.run(['GET', `${KEY}nother`]);
    const why = `slot ${SLOT.number} is being moved`;
    expect(await missing.catch((error) => error)).toMatchObject({ mayHaveRun: false });
    await eventually(
      () => link.server.away,
      (away) => away?.why === why,
    );
    await end();
    await eventually(() => link.events, isBack);
    expect(link.server.away).toBeUndefined();
  });

  it('is followed to a replica that takes over with all data', async () => {
    await using link = await open();
    const { commands, subscriptions, dataId, serverId } = link.server;
    await subscriptions.follow(STREAM);
    const before = await cluster.masterOf(SLOT.number);
    await cluster.failOver(before);
    const now = await cluster.masterOf(SLOT.number);
    expect(now).not.toBe(before);
    await commands.run(['SET', KEY, 'after']);
    expect(await now.run('GET', KEY)).toBe('after');
    await eventually(() => link.events, isBack);
    await expectWorking(link, 'again');
    expect(link.server.serverId).not.toBe(serverId);
    expect(link.server.dataId).toBe(dataId);
  });

  it('runs scripts that the master has forgotten', async () => {
    await using link = await open();
    const own = await cluster.masterOf(SLOT.number);
    await own.run('SCRIPT', 'FLUSH');
    await link.server.subscriptions.follow(STREAM);
    link.server.subscriptions.verify();
    await expectWorking(link, 'heard');
    await eventually(
      async () => String(await own.run('INFO', 'commandstats')),
      (stats) => /cmdstat_eval:/.test(stats),
    );
  });

  it('comes back when its master is killed and a replica is promoted', async () => {
    await using link = await open(1_000);
    const { dataId } = link.server;
    await link.server.subscriptions.follow(STREAM);
    const before = await cluster.masterOf(SLOT.number);
    await before.kill();
    const now = await cluster.promoted(SLOT.number, before);
    await eventually(() => link.events, isBack);
    await expectWorking(link, 'again');
    expect(await now.run('PUBSUB', 'SHARDNUMSUB', STREAM)).toEqual([STREAM, 1]);
    // It may lack the last writes.
    expect(link.server.dataId).not.toBe(dataId);
    await before.start();
  });
});
