import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../testing/servers/test-app.ts';
import { fanfare } from '../cli/run-fanfare.ts';

let server: Fanfare;
beforeAll(async () => {
  // Of two loops, so that receivers are counted over both.
  server = await startFanfare({ threads: 2 });
});
afterAll(() => server[Symbol.asyncDispose]());

const event = (channels: readonly string[], more: object = {}) => ({
  name: 'created',
  channels,
  data: '{"id":17}',
  ...more,
});

const sends = (app: TestApp, body: object) =>
  admin(server, 'POST', `/apps/${app.id}/events`, { body });

describe('an event that an operator sends', () => {
  it('reaches all subscribers but the excluded one, and reports how many there are', async () => {
    const app = await newApp(server);
    const clients = await Promise.all(Array.from({ length: 8 }, () => app.connect()));
    for (const client of clients) await client.subscribe('orders');
    const socketId = clients[0]?.socketId;
    expect(await sends(app, event(['orders', 'nobody'], { socketId }))).toMatchObject({
      status: 200,
      json: {
        channels: [
          { name: 'orders', receivers: 8, near: null },
          { name: 'nobody', receivers: 0, near: null },
        ],
      },
    });
    const received = { event: 'created', channel: 'orders', data: '{"id":17}' };
    for (const client of clients.slice(1)) expect(await client.receive()).toEqual(received);
    await clients[0]?.receiveNothing();
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('that nobody receives names the channel that was probably meant', async () => {
    const app = await newApp(server);
    await using client = await app.connect();
    for (const channel of ['orders.1', 'room']) await client.subscribe(channel);
    await client.subscribe('private-user.1', app.auth(client, 'private-user.1'));
    const { json } = await sends(
      app,
      event(['private-user-1', 'private-room', 'other', 'ordrs.1']),
    );
    expect(json).toEqual({
      channels: [
        { name: 'private-user-1', receivers: 0, near: 'private-user.1' },
        { name: 'private-room', receivers: 0, near: 'room' },
        { name: 'other', receivers: 0, near: null },
        // It is the fourth empty channel.
        { name: 'ordrs.1', receivers: 0, near: null },
      ],
    });
  });

  it.each([
    [{ channels: ['a b'] }, 400, 'channels[0]', 'Invalid channel name "a b"'],
    [{ channels: [] }, 400, 'channels', 'at least one channel'],
    [{ name: 'pusher:x' }, 400, 'name', 'reserved'],
    [{ socketId: 'x' }, 400, 'socketId', 'must be the id of a connection'],
    [{ append: { id: 'msg_1', at: 0 } }, 400, 'append', ''],
    [{ data: 'x'.repeat(10_241) }, 413, undefined, '10240 bytes'],
  ])('must keep the rules of the HTTP API: %j', async (fault, status, field, why) => {
    const app = await newApp(server);
    const answer = await sends(app, { ...event(['a']), ...fault });
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({
      error: expect.stringContaining(why),
      ...(field === undefined ? {} : { field }),
    });
  });

  it('counts as a message of the app, and is refused beyond its quota and its rate', async () => {
    const app = await newApp(server, { limits: { messagesPerDay: 1 } });
    expect((await sends(app, event(['a']))).status).toBe(200);
    const usage = async () =>
      (await admin(server, 'GET', `/apps/${app.id}/usage`)).json as { usage: object[] };
    await eventually(usage, (one) => one.usage.length > 0);
    expect((await usage()).usage).toMatchObject([{ messages: 1 }]);
    expect(await sends(app, event(['a']))).toMatchObject({
      status: 429,
      json: { error: expect.stringContaining('over its message quota') },
    });
    const slow = await newApp(server, { limits: { triggersPerSecond: 1 } });
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async () => (await sends(slow, event(['a']))).status),
    );
    expect(statuses).toContain(429);
  });

  it('is refused for an app that is disabled or unknown', async () => {
    const app = await newApp(server);
    await admin(server, 'POST', `/apps/${app.id}/disable`);
    expect(await sends(app, event(['a']))).toMatchObject({
      status: 409,
      json: { error: 'The app is disabled' },
    });
    expect((await admin(server, 'POST', '/apps/x/events', { body: event(['a']) })).status).toBe(
      404,
    );
  });

  it('is a line of the log without its data', async () => {
    const app = await newApp(server);
    const line = server.logsNext(/Event sent/);
    await sends(app, event(['a'], { data: 'personal' }));
    expect(await line).toContain(app.id);
    expect(await line).not.toContain('personal');
  });
});

describe('fanfare send', () => {
  it('sends an event through the running server', async () => {
    const app = await newApp(server);
    await using client = await app.connect();
    await client.subscribe('orders');
    const url = `http://127.0.0.1:${server.adminPort}`;
    const run = (...args: string[]) =>
      fanfare(server.directory, [
        'send',
        ...args,
        '--url',
        url,
        '--config',
        join(server.directory, 'config.json'),
      ]);
    expect(await run(app.id, 'orders', 'created', '{}')).toMatchObject({
      exitCode: 0,
      stdout: '1 connection received it on orders.\n',
    });
    expect(await client.receive()).toEqual({ event: 'created', channel: 'orders', data: '{}' });
    expect((await run(app.id, 'order', 'created', '{}')).stdout).toBe(
      '0 connections received it on order. Did you mean orders?\n',
    );
    expect((await run('nowhere', 'a', 'b', 'c')).exitCode).toBe(1);
    expect((await run(app.id, 'a', 'b')).exitCode).toBe(2);
  });
});
