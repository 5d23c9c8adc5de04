import { describe, expect, it } from 'bun:test';
import { admin, makeApp } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { channelAuth, trigger } from '../../testing/clients/sign.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';

describe('the admin API shows', () => {
  it('what each app does now', async () => {
    await using server = await startFanfare();
    const other = await makeApp(server);
    await using one = await RawClient.connect(server);
    await using two = await RawClient.connect(server);
    await one.subscribes('a');
    await two.subscribes('a');
    await two.subscribes('b');
    await trigger(server, { name: 'e', channel: 'a', data: 'x' });
    const { status, json } = await admin(server, 'GET', '/live');
    expect(status).toBe(200);
    expect(json).toEqual({
      apps: [
        // The trigger, and each of its two deliveries.
        { id: APP.id, connections: 2, channels: 2, messagesToday: 3, clientMessagesToday: 0 },
        { id: other.id, connections: 0, channels: 0, messagesToday: 0, clientMessagesToday: 0 },
      ],
    });
  });

  it('the occupied channels of an app with their counts', async () => {
    await using server = await startFanfare();
    await using client = await RawClient.connect(server);
    for (const name of ['a-1', 'a-2', 'a-3', 'b-1']) await client.subscribes(name);
    const members = JSON.stringify({ user_id: 'ada' });
    const auth = channelAuth(client.socketId, 'presence-x', members);
    await client.subscribes('presence-x', auth);
    const ask = async (query: string) =>
      (await admin(server, 'GET', `/apps/${APP.id}/channels${query}`)).json;
    expect(await ask('?prefix=presence-')).toEqual({
      channels: [{ name: 'presence-x', subscriptions: 1, users: 1 }],
      more: false,
      next: null,
    });
    expect(await ask('?prefix=a-&limit=2')).toMatchObject({
      channels: [{ subscriptions: 1, users: 0 }, {}],
      more: true,
    });
    expect(await ask('?prefix=a-&limit=3')).toMatchObject({ channels: [{}, {}, {}], more: false });
    expect(await ask('?prefix=none')).toEqual({ channels: [], more: false, next: null });
    const listed: string[] = [];
    for (let after = ''; ; ) {
      const page = (await ask(`?prefix=a-&limit=1${after}`)) as {
        channels: { name: string }[];
        next: string | null;
      };
      listed.push(...page.channels.map(({ name }) => name));
      if (page.next === null) break;
      after = `&after=${page.next}`;
    }
    expect(listed).toEqual(['a-1', 'a-2', 'a-3']);
    expect((await admin(server, 'GET', `/apps/${APP.id}/channels?after=x`)).status).toBe(400);
  });

  it('what an app used on each day, also after a restart', async () => {
    await using first = await startFanfare();
    for (const data of ['x', 'y']) await trigger(first, { name: 'e', channel: 'a', data });
    await using second = await restart(first);
    const { json } = await admin(second, 'GET', `/apps/${APP.id}/usage?days=1`);
    expect(json).toEqual({
      usage: [{ day: expect.stringMatching(/^20\d\d-\d\d-\d\d$/), messages: 2, clientMessages: 0 }],
    });
  });
});
