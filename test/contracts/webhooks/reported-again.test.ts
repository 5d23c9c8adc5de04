import { afterAll, beforeAll, expect, it } from 'bun:test';
import type { AppWebhookEvent } from '../../../src/channels/lifecycle/webhook-event.ts';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { StoredOutbox } from '../../../src/stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../../../src/stores/webhooks/outbox-log.ts';
import { Webhooks } from '../../../src/webhooks/webhooks.ts';
import { FakeTime } from '../../../testing/fake-time.ts';
import { type OwnRedis, startRedis } from '../../../testing/servers/redis.ts';
import { silent } from '../loop-parts.ts';
import { type RedisLoop, RedisLoops } from '../redis-loops.ts';
import { app, Node } from '../redis-node.ts';

/** Webhook events from the scripts in Redis to the endpoint, when servers die on the way. */

let redis: OwnRedis;
let database: Database;

beforeAll(async () => {
  redis = await startRedis();
  database = await openDatabase('sqlite::memory:');
});

afterAll(async () => {
  await redis[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** Servers that share Redis, the store and one endpoint. */
async function open() {
  const cluster = new RedisLoops([redis.url], [app]);
  const timers = new FakeTime({ turns: 20 });
  const received: string[] = [];
  const servers: Webhooks[] = [];
  return {
    cluster,
    received,
    /** `fails`: when it dies. */
    async addServer(number: number, fails: 'never' | 'before it stores' | 'before it confirms') {
      const webhooks = await Webhooks.open({
        outbox: new StoredOutbox(database),
        outboxLog: new StoredOutboxLog(database),
        app: () => app,
        instance: () => undefined,
        settings: { timeoutSeconds: 10, logDays: 7 },
        shared: true,
        send: async ({ body }) => {
          for (const { name } of JSON.parse(String(body)).events) received.push(name);
          return { result: 'answered', status: 200, headers: new Headers(), body: Buffer.of() };
        },
        log: silent,
        timers,
        monotonic: timers.monotonic,
      });
      servers.push(webhooks);
      const node = new Node(number, []);
      const emit = (event: AppWebhookEvent, over?: () => void) => {
        if (fails !== 'before it stores') {
          webhooks.accept([event], () => fails === 'never' && over?.());
        }
      };
      const audience = node as never;
      node.loop = await cluster.add({ audience, emit });
      return node;
    },
    kill: (loop: RedisLoop) => cluster.kill(loop),
    async advance(ms: number): Promise<void> {
      await cluster.advance(ms);
      await timers.advance(1_000);
      await cluster.settled();
    },
    async [Symbol.asyncDispose]() {
      const ended = servers.map((webhooks) => webhooks[Symbol.asyncDispose]());
      await timers.advance(5_000);
      await Promise.all(ended);
      await cluster.close();
    },
  };
}

it.each(['before it stores', 'before it confirms'] as const)(
  'an event reaches the endpoint once if the server that claimed it dies %s it',
  async (fails) => {
    await using site = await open();
    const one = await site.addServer(1, fails);
    await site.addServer(2, 'never');
    await one.join('news', undefined);
    await site.advance(1_000);
    await site.kill(one.loop);
    // The claim ends, the lease does, and the channel is vacated.
    for (let second = 0; second < 30; second++) await site.advance(1_000);
    expect(site.received).toEqual(['channel_occupied', 'channel_vacated']);
  },
);
