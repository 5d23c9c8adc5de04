import { afterAll, beforeAll, expect, it } from 'bun:test';
import { eventually } from '../../testing/eventually.ts';
import { withWebhooks } from '../../testing/servers/app-with-webhooks.ts';
import type { TestApp } from '../../testing/servers/test-app.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { type Cluster, enters, startCluster, usersAt } from './cluster.ts';

/** What a backend is told of members while Redis is in trouble. */

let cluster: Cluster;
let backend: WebhookEndpoint;

beforeAll(async () => {
  backend = startWebhookEndpoint();
  const events = ['member_added', 'member_removed'];
  cluster = await startCluster(2, { app: withWebhooks([{ url: backend.url, events }]) });
}, 180_000);

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  backend[Symbol.dispose]();
});

/** The next events, as they arrive. */
async function reported(count: number): Promise<readonly string[]> {
  const names: string[] = [];
  while (names.length < count) {
    const { name, user_id: userId } = await backend.events.next();
    names.push(`${name} ${userId}`);
  }
  return names;
}

it('an arrival comes before the departure, although the server could not read that it was handed the arrival', async () => {
  const [near, far] = cluster.apps as [TestApp, TestApp];
  const [, proxy] = cluster.proxies;
  if (proxy === undefined) throw new Error('There is no second server');
  {
    // So that the server follows the channel.
    await using bob = await far.connect();
    await enters(far, bob, 'bob');
    {
      await using ann = await far.connect();
      proxy.loseRepliesOfThoseThatSent('SCRIPT');
      const entered = enters(far, ann, 'ann');
      await eventually(
        () => usersAt(near),
        (users) => users.includes('ann'),
      );
      await entered;
    }
    expect(await reported(3)).toEqual([
      'member_added bob',
      'member_added ann',
      'member_removed ann',
    ]);
  }
  expect(await reported(1)).toEqual(['member_removed bob']);
}, 90_000);

it('who left just before Redis lost its data is reported as gone, and nobody else', async () => {
  const [near, far] = cluster.apps as [TestApp, TestApp];
  await using bob = await far.connect();
  await enters(far, bob, 'bob');
  {
    await using ann = await near.connect();
    await enters(near, ann, 'ann');
    expect((await reported(2)).toSorted()).toEqual(['member_added ann', 'member_added bob']);
  }
  await eventually(
    () => usersAt(far),
    (users) => !users.includes('ann'),
  );
  await cluster.redis.kill();
  await cluster.redis.start();
  expect(await bob.closed).toMatchObject({ code: 4200 });
  await using bobAgain = await near.connect();
  await enters(near, bobAgain, 'bob');
  await using cid = await far.connect();
  await enters(far, cid, 'cid');
  expect((await reported(2)).toSorted()).toEqual(['member_added cid', 'member_removed ann']);
}, 90_000);
