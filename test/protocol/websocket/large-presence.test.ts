import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../../testing/clients/admin-api.ts';
import type { ReceivedEvent } from '../../../testing/clients/raw-client.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

const presence = [
  { channels: 'presence-named', shown: 1, named: 2, members: 0 },
  { channels: 'presence-few', shown: 1, members: 2 },
  { channels: 'presence-*', shown: 1 },
];

async function enter(app: TestApp, client: AppClient, channel: string, data: string) {
  client.send({
    event: 'pusher:subscribe',
    data: { channel, ...app.auth(client, channel, data) },
  });
  return await client.receive();
}

const counted = (channel: string, subscriptions: number, users: number): ReceivedEvent => ({
  event: 'pusher_internal:subscription_count',
  channel,
  data: `{"subscription_count":${subscriptions},"user_count":${users}}`,
});

describe.concurrent('a large presence channel', () => {
  it('shows a newcomer some members, itself, and the exact number of all, and others only counts', async () => {
    const app = await newApp(server, { presence });
    const channel = 'presence-stadium';
    await using ann = await app.connect();
    await using bob = await app.connect();
    await using eve = await app.connect();
    expect((await enter(app, ann, channel, '{"user_id":"ann","user_info":{ "n": 1 }}')).data).toBe(
      '{"presence":{"count":1,"ids":["ann"],"hash":{"ann":{ "n": 1 }}}}',
    );
    expect(await ann.receive()).toEqual(counted(channel, 1, 1));
    expect((await enter(app, bob, channel, '{"user_id":"bob"}')).data).toBe(
      '{"presence":{"count":2,"ids":["ann","bob"],"hash":{"ann":{ "n": 1 },"bob":null}}}',
    );
    expect(await bob.receive()).toEqual(counted(channel, 2, 2));
    expect((await enter(app, eve, channel, '{"user_id":"eve"}')).data).toBe(
      '{"presence":{"count":3,"ids":["ann","eve"],"hash":{"ann":{ "n": 1 },"eve":null}}}',
    );
    await bob[Symbol.asyncDispose]();
    for (const count of [counted(channel, 2, 2), counted(channel, 3, 3), counted(channel, 2, 2)]) {
      expect(await ann.receive()).toEqual(count);
    }
    // As in any presence channel.
    ann.send({ event: 'pusher:unsubscribe', data: { channel } });
    expect((await eve.receive()).data).toBe('{"subscription_count":3,"user_count":3}');
    const users = await app.api('GET', `/channels/${channel}/users/eve`);
    expect(await users.text()).toBe('{"id":"eve","present":true,"user_info":null}');
  });

  it('names those who come and go once a second, if the rule says so', async () => {
    const app = await newApp(server, { presence });
    const channel = 'presence-named';
    await using ann = await app.connect();
    await enter(app, ann, channel, '{"user_id":"ann"}');
    const clients = await Promise.all(['b', 'c', 'd'].map(() => app.connect()));
    for (const [n, client] of clients.entries()) {
      await enter(app, client, channel, `{"user_id":"${'bcd'[n]}","user_info":{ "n": ${n} }}`);
    }
    const named = new Set<string>();
    let more = 0;
    while (named.size + more < 4) {
      const { event, data } = await ann.receive();
      if (event !== 'fanfare:members') continue;
      const batch = JSON.parse(String(data));
      expect(batch.left).toEqual([]);
      expect(batch.joined.length).toBeLessThanOrEqual(2);
      for (const { user_id } of batch.joined) named.add(user_id);
      more += batch.more;
    }
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('has the limit of its rule', async () => {
    const app = await newApp(server, { presence });
    const channel = 'presence-few';
    const clients = await Promise.all([1, 2, 3].map(() => app.connect()));
    const received: ReceivedEvent[] = [];
    for (const [n, client] of clients.entries()) {
      received.push(await enter(app, client, channel, `{"user_id":"${n}"}`));
    }
    expect(received[2]).toMatchObject({
      event: 'pusher:error',
      data: { message: 'Presence channel presence-few is full: at most 2 members' },
    });
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it.each([
    [{ channels: 'private-*', shown: 1 }, 'presence[0].channels: must be the name of a presence'],
    [{ channels: 'presence-*', shown: 1001 }, 'presence[0].shown: must be between 0 and 1000'],
    [{ channels: 'presence-*', named: -1 }, 'presence[0].named: must be between 0 and 1000'],
  ])('is refused with the rule of the setting: %j', async (rule, why) => {
    const app = await newApp(server);
    const body = { presence: [rule] };
    const { status, text } = await admin(server, 'PATCH', `/apps/${app.id}`, { body });
    expect(status).toBe(400);
    expect(text).toContain(why);
  });
});
