import { afterAll, afterEach, beforeAll, expect, it } from 'bun:test';
import type { App } from '../../../src/channels/app.ts';
import { socketId } from '../../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../../src/channels/lifecycle/webhook-event.ts';
import type { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { STATE } from '../../../src/engines/redis/scripts/statements.ts';
import { CLAIM, TICK } from '../../../src/engines/redis/scripts/upkeep.ts';
import { type OwnRedis, startRedis } from '../../../testing/servers/redis.ts';
import { type LoopOptions, type RedisLoop, RedisLoops } from '../../contracts/redis-loops.ts';
import { appWith, channel } from '../../contracts/values.ts';

/** Which server reports a webhook event, and when, if answers of Redis are lost. */

const app: App = {
  ...appWith({}),
  webhooks: [
    { url: 'http://localhost/', events: ['member_added', 'member_removed'], batching: true },
  ],
};
const room = channel('presence-room');
const GRACE_MS = 3000;

let redis: OwnRedis;
let cluster: RedisLoops;

beforeAll(async () => {
  redis = await startRedis();
});

afterEach(() => cluster.close());

afterAll(() => redis[Symbol.asyncDispose]());

async function open(
  ...loops: readonly Pick<LoopOptions, 'fate' | 'emit'>[]
): Promise<readonly RedisLoop[]> {
  cluster = new RedisLoops([redis.url], [app]);
  const opened: RedisLoop[] = [];
  for (const options of loops) opened.push(await cluster.add(options));
  return opened;
}

function comes({ engine }: RedisLoop, userId: string): Promise<boolean> {
  const member = { userId, userInfo: undefined };
  const newcomer = { socketId: socketId('1.1') };
  return engine.join({ app, channel: room, held: 1, member, newcomer }, () => undefined);
}

function goes({ engine }: RedisLoop, userId: string): Promise<void> {
  return engine.leave({ app, channel: room, held: 0, userId });
}

function textOf({ event }: AppWebhookEvent): string {
  return 'user_id' in event ? `${event.name} ${event.user_id}` : event.name;
}

function reported(): readonly string[] {
  return cluster.reported().map(textOf);
}

it('a server asks again at once for what it was handed while it could not read the answers', async () => {
  let isCut = true;
  const stated = Promise.withResolvers<void>();
  const [loop] = (await open({
    fate: (script) => {
      if (!isCut || script !== STATE) return 'answered';
      stated.resolve();
      return 'reply-lost';
    },
  })) as [RedisLoop];
  const joined = comes(loop, 'ann');
  await stated.promise;
  await cluster.settled();
  expect(reported()).toEqual([]);
  isCut = false;
  loop.gap();
  await cluster.settled();
  expect(reported()).toEqual(['member_added ann']);
  await cluster.advance(1000);
  expect(await joined).toBe(true);
  await cluster.advance(20_000);
  expect(reported()).toEqual([]);
});

it('a server takes nothing younger before it has asked for what it was handed', async () => {
  let isCut = false;
  const [loop] = (await open({
    fate: (script) => (isCut && [CLAIM, TICK].includes(script) ? 'reply-lost' : 'answered'),
  })) as [RedisLoop];
  await comes(loop, 'ann');
  await goes(loop, 'ann');
  expect(reported()).toEqual(['member_added ann']);
  // Handed out, and not received.
  isCut = true;
  await cluster.advance(GRACE_MS + 1000);
  expect(reported()).toEqual([]);
  isCut = false;
  loop.gap();
  await comes(loop, 'ann');
  await cluster.settled();
  expect(reported()).toEqual(['member_removed ann', 'member_added ann']);
});

it('a return is reported after the departure, also if the server that was to report the departure has died', async () => {
  let isFarCut = false;
  const [near, far] = (await open(
    { fate: (script) => (isFarCut && [CLAIM, TICK].includes(script) ? 'not-run' : 'answered') },
    { fate: (script) => (isFarCut && [CLAIM, TICK].includes(script) ? 'reply-lost' : 'answered') },
  )) as [RedisLoop, RedisLoop];
  await comes(far, 'ann');
  await goes(far, 'ann');
  isFarCut = true;
  await cluster.advance(GRACE_MS + 1000);
  await cluster.kill(far);
  isFarCut = false;
  expect(reported()).toEqual(['member_added ann']);
  await comes(near, 'ann');
  await cluster.advance(1000);
  expect(reported()).toEqual([]);
  await cluster.advance(10_000);
  expect(reported()).toEqual(['member_removed ann', 'member_added ann']);
});

/** A departure that one server was handed, and another one whose user has returned. */
async function returnsTooSoon() {
  const received: string[] = [];
  const unstored: (() => void)[] = [];
  const emit = (event: AppWebhookEvent, stored?: () => void) => {
    received.push(textOf(event));
    unstored.push(() => stored?.());
  };
  const store = async () => {
    for (const stored of unstored.splice(0)) stored();
    await cluster.settled();
  };
  let mayClaim = false;
  const cannotClaim = (script: RedisScript) =>
    !mayClaim && script === TICK ? 'not-run' : 'answered';
  const [near, far] = (await open({ emit, fate: cannotClaim }, { emit })) as [RedisLoop, RedisLoop];
  await comes(far, 'ann');
  await store();
  await goes(far, 'ann');
  await cluster.advance(GRACE_MS);
  expect(received).toEqual(['member_added ann', 'member_removed ann']);
  received.splice(0);
  mayClaim = true;
  await comes(near, 'ann');
  await cluster.settled();
  expect(received).toEqual([]);
  return { received, store };
}

it('a return is reported as soon as the departure is stored', async () => {
  const { received, store } = await returnsTooSoon();
  await store();
  expect(received).toEqual(['member_added ann']);
});

it('a return is reported also if a server of an earlier release has stored the departure', async () => {
  const { received } = await returnsTooSoon();
  using client = disposable(redis.url);
  for (const key of await client.keys('*}W')) {
    const events = await client.zrange(key, 0, -1);
    for (const id of events) if (id.includes('\nr\n')) await client.zrem(key, id);
  }
  await cluster.advance(12_000);
  expect(received).toEqual(['member_added ann']);
});

function disposable(url: string) {
  const client = new Bun.RedisClient(url);
  return Object.assign(client, { [Symbol.dispose]: () => client.close() });
}
