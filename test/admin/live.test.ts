import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { newApp } from '../../testing/servers/test-app.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('the admin API shows', () => {
  it('the present activity of each app', async () => {
    const app = await newApp(server);
    const other = await newApp(server);
    await using one = await app.connect();
    await using two = await app.connect();
    await one.subscribe('a');
    await two.subscribe('a');
    await two.subscribe('b');
    await app.trigger({ name: 'e', channel: 'a', data: 'x' });
    const none = { connections: 0, channels: 0, messagesToday: 0, clientMessagesToday: 0 };
    // The trigger, and each of its two deliveries.
    const active = { ...none, id: app.id, connections: 2, channels: 2, messagesToday: 3 };
    // This server gets the figures of another one within a second.
    await eventually(
      async () => (await admin(server, 'GET', '/live')).json as { apps: { id: string }[] },
      ({ apps }) => apps.some((one) => Bun.deepEquals(one, active)),
    );
    const { status, json } = await admin(server, 'GET', '/live');
    expect(status).toBe(200);
    const { apps, servers } = json as {
      apps: unknown[];
      servers: { apps: { id: string; connections: number }[] }[];
    };
    expect(apps).toContainEqual({ ...none, id: other.id });
    const ofApp = servers.flatMap((one) => one.apps).filter(({ id }) => id === app.id);
    expect(ofApp.reduce((sum, { connections }) => sum + connections, 0)).toBe(2);
  });

  it('the occupied channels of an app with their counts', async () => {
    const app = await newApp(server);
    await using client = await app.connect();
    for (const name of ['a-1', 'a-2', 'a-3', 'b-1']) await client.subscribe(name);
    const members = JSON.stringify({ user_id: 'ada' });
    await client.subscribe('presence-x', app.auth(client, 'presence-x', members));
    const ask = async (query: string) =>
      (await admin(server, 'GET', `/apps/${app.id}/channels${query}`)).json;
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
    expect(listed.sort()).toEqual(['a-1', 'a-2', 'a-3']);
    expect((await admin(server, 'GET', `/apps/${app.id}/channels?after=x`)).status).toBe(400);
  });

  it('the usage of an app by hour, also after a restart', async () => {
    await using first = await startFanfare();
    for (const data of ['x', 'y']) await trigger(first, { name: 'e', channel: 'a', data });
    const hours = async (of: Fanfare) => {
      const { json } = await admin(of, 'GET', `/apps/${APP.id}/usage?unit=hour`);
      return (json as { usage: { messages: number }[] }).usage;
    };
    const sum = (usage: readonly { messages: number }[]) =>
      usage.reduce((total, { messages }) => total + messages, 0);
    await eventually(
      () => hours(first),
      (usage) => sum(usage) === 2,
    );
    await using second = await restart(first);
    const usage = await hours(second);
    expect(sum(usage)).toBe(2);
    expect(usage[0] as object).toEqual({
      day: expect.stringMatching(/^20\d\d-\d\d-\d\d$/),
      hour: expect.any(Number),
      messages: expect.any(Number),
      clientMessages: 0,
      connections: { most: 0, fewest: 0, average: 0 },
    });
  });

  it('the usage of an app by day, also after a restart', async () => {
    await using first = await startFanfare();
    for (const data of ['x', 'y']) await trigger(first, { name: 'e', channel: 'a', data });
    await using second = await restart(first);
    const { json } = await admin(second, 'GET', `/apps/${APP.id}/usage?days=1`);
    expect(json).toEqual({
      usage: [{ day: expect.stringMatching(/^20\d\d-\d\d-\d\d$/), messages: 2, clientMessages: 0 }],
    });
  });
});
