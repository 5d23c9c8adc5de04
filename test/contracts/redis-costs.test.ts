import { afterAll, beforeAll, expect, it } from 'bun:test';
import { RedisClient } from 'bun';
import { commandsOfEvents, commandsOfIdling, commandsOfJoins } from '../../bench/cluster/model.ts';
import { socketId } from '../../src/channels/hub.fixture.ts';
import { eventMessage } from '../../src/channels/wire.ts';
import { partitionOf } from '../../src/engines/partition.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { RedisLoops } from './redis-loops.ts';
import { appWith, channel } from './values.ts';

/**
 * `npm run bench -- cluster --model` computes with as many commands as Redis counts, those inside scripts included. Here are two servers
 * of two threads, whose threads have leases of their own.
 */

const NODES = 4;
const EVENTS = 1000;
const CHANNELS = 100;
const JOINS = 1000;
const SECONDS = 10;
/** How far the model may be off. */
const TOLERANCE = 0.1;

const app = appWith({ presenceMembers: 0 });
const rooms = Array.from({ length: CHANNELS }, (_, n) => channel(`presence-room-${n}`));

let redis: OwnRedis;
let cluster: RedisLoops;
let asking: RedisClient;

beforeAll(async () => {
  redis = await startRedis();
  asking = new RedisClient(redis.url);
  cluster = new RedisLoops([redis.url], [app]);
  for (let n = 0; n < NODES; n++) await cluster.add();
});

afterAll(async () => {
  await cluster.close();
  asking.close();
  await redis[Symbol.asyncDispose]();
});

/** Counts the commands that Redis runs meanwhile. */
async function countOf(work: () => Promise<unknown>, without: readonly string[] = []) {
  await asking.send('CONFIG', ['RESETSTAT']);
  await work();
  const text = String(await asking.send('INFO', ['commandstats']));
  const all = [...text.matchAll(/^cmdstat_([a-z]+)[^:]*:calls=(\d+)/gm)];
  return all
    .filter(([, name = '']) => !['config', ...without].includes(name))
    .reduce((sum, [, , calls]) => sum + Number(calls), 0);
}

function expectNear(counted: number, computed: number): void {
  expect(counted).toBeGreaterThan(computed * (1 - TOLERANCE));
  expect(counted).toBeLessThan(computed * (1 + TOLERANCE));
}

function engineOf(n: number) {
  const loop = cluster.all[n % NODES];
  if (loop === undefined) throw new Error('There are no loops');
  return loop.engine;
}

function roomOf(n: number) {
  const room = rooms[n % CHANNELS];
  if (room === undefined) throw new Error('There are no rooms');
  return room;
}

async function join(n: number): Promise<void> {
  const turn = Math.floor(n / CHANNELS);
  await engineOf(turn).join(
    {
      app,
      channel: roomOf(n),
      held: Math.floor(turn / NODES) + 1,
      member: { userId: `user-${n}`, userInfo: undefined },
      newcomer: { socketId: socketId(`1.${n + 1}`) },
    },
    () => undefined,
  );
}

async function publish(n: number): Promise<void> {
  const { text } = roomOf(n);
  const makeFrame = () => eventMessage('event', text, 'data');
  await engineOf(n).publish({
    ...{ app, channel: text, makeFrame },
    ...{ cause: 'backend', remember: undefined },
  });
}

const each = (count: number) => Array.from({ length: count }, (_, n) => n);

async function oneByOne(count: number, work: (n: number) => Promise<void>): Promise<void> {
  for (const n of each(count)) await work(n);
}

it(`is right about ${JOINS} joins`, async () => {
  const counted = await countOf(() => oneByOne(JOINS, join));
  expectNear(counted, commandsOfJoins(JOINS, { channels: CHANNELS, nodesEach: NODES }));
});

it(`is right about ${EVENTS} events, one at a time and many at once`, async () => {
  const single = await countOf(() => oneByOne(EVENTS, publish));
  expectNear(single, commandsOfEvents(EVENTS, { calls: EVENTS, groups: EVENTS }));
  const together = await countOf(() => Promise.all(each(EVENTS).map(publish)));
  // Each node has a quarter of the channels, and sends all of its events in one call.
  const groups = each(NODES).map((node) => {
    const own = rooms.filter((_, n) => n % NODES === node);
    return new Set(own.map(({ text }) => partitionOf(app, text))).size;
  });
  const sum = groups.reduce((all, one) => all + one, 0);
  expectNear(together, commandsOfEvents(EVENTS, { calls: NODES, groups: sum }));
});

it(`is right about ${SECONDS} s of idling`, async () => {
  // Not by the engine: what sets the clock of the scripts, and what finds out whether all has arrived.
  const counted = await countOf(() => cluster.advance(SECONDS * 1000), ['set', 'publish']);
  expectNear(counted, commandsOfIdling(NODES, SECONDS));
});
