import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { admin } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

const LIMIT = { limits: { connectionsPerUser: 2 } };
const WHY = 'The user ann has 2 connections already, which is the limit';
const ERROR = { event: 'pusher:error', data: { code: null, message: WHY } };

/** Signs a client in as a user, and returns what it receives. */
async function signIn(app: TestApp, client: AppClient, id = 'ann') {
  client.send(app.signIn(client, { id }));
  return await client.receive();
}

/** Signs in again until there is a place. */
async function getsPlace(app: TestApp, client: AppClient): Promise<void> {
  await eventually(
    async () => await signIn(app, client),
    ({ event }) => event === 'pusher:signin_success',
  );
}

function tokenOf({ key, secret }: TestApp): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = {
    sub: 'ann',
    exp: Math.floor(Date.now() / 1000) + 60,
    channels: { 'private-*': ['subscribe'] },
  };
  const signed = `${encode({ alg: 'HS256', kid: key })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

describe.concurrent('the connections of a user', () => {
  it('are limited: another one stays open, but is not signed in', async () => {
    const app = await newApp(server, LIMIT);
    await using one = await app.connect();
    await using two = await app.connect();
    await using three = await app.connect();
    expect((await signIn(app, one)).event).toBe('pusher:signin_success');
    expect((await signIn(app, two)).event).toBe('pusher:signin_success');
    expect(await signIn(app, three)).toEqual(ERROR);
    three.send({ event: 'pusher:subscribe', data: { channel: '#server-to-user-ann' } });
    expect(await three.receive()).toMatchObject({ event: 'pusher:error' });
    // As somebody else, the connection may sign in.
    await three.receive();
    expect((await signIn(app, three, 'bob')).event).toBe('pusher:signin_success');
  });

  it('give their place back when they end, however they end', async () => {
    const app = await newApp(server, LIMIT);
    await using last = await app.connect();
    const others = [await app.connect(), await app.connect()];
    for (const other of others) await signIn(app, other);
    expect(await signIn(app, last)).toEqual(ERROR);
    await others[0]?.[Symbol.asyncDispose]();
    await getsPlace(app, last);
    await app.api('POST', '/users/ann/terminate_connections', { body: '{}' });
    expect((await last.closed).code).toBe(4009);
    await using again = await app.connect();
    await using more = await app.connect();
    await getsPlace(app, again);
    await getsPlace(app, more);
  });

  it('take one place each, however often they sign in', async () => {
    const app = await newApp(server, LIMIT);
    await using one = await app.connect();
    await using two = await app.connect();
    for (let n = 0; n < 3; n++) {
      expect((await signIn(app, one)).event).toBe('pusher:signin_success');
    }
    expect((await signIn(app, two)).event).toBe('pusher:signin_success');
  });

  it('are limited from the moment at which the setting changes', async () => {
    const app = await newApp(server);
    const clients: AppClient[] = [];
    for (let n = 0; n < 3; n++) {
      const client = await app.connect();
      clients.push(client);
      await signIn(app, client);
    }
    // A place that was given back before there was a limit.
    await clients.pop()?.[Symbol.asyncDispose]();
    await using another = await app.connect();
    const change = async (body: object) =>
      expect((await admin(server, 'PATCH', `/apps/${app.id}`, { body })).status).toBe(200);
    await change(LIMIT);
    expect(await signIn(app, another)).toEqual(ERROR);
    await change({ limits: { connectionsPerUser: 3 } });
    expect((await signIn(app, another)).event).toBe('pusher:signin_success');
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('are limited for tokens of a channel too, whose subscription is refused with 4100', async () => {
    const app = await newApp(server, { ...LIMIT, grants: {} });
    const subscribe = {
      event: 'pusher:subscribe',
      data: { channel: 'private-x', auth: tokenOf(app) },
    };
    const clients = [await app.connect(), await app.connect(), await app.connect()];
    for (const client of clients) client.send(subscribe);
    const refused: AppClient[] = [];
    for (const client of clients) {
      const { event, data } = await client.receive();
      if (event === 'pusher_internal:subscription_succeeded') continue;
      expect({ event, data }).toEqual(ERROR);
      refused.push(client);
    }
    expect(refused).toHaveLength(1);
    const { event, channel, data } = (await refused[0]?.receive()) ?? {};
    expect([event, channel]).toEqual(['pusher:subscription_error', 'private-x']);
    expect(JSON.parse(String(data))).toEqual({ type: 'LimitReached', error: WHY, status: 4100 });
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('have no limit of more than a thousand million, which the message says', async () => {
    const body = { limits: { connectionsPerUser: 1_000_000_001 } };
    const app = await newApp(server);
    const { status, text } = await admin(server, 'PATCH', `/apps/${app.id}`, { body });
    expect(status).toBe(400);
    expect(text).toContain('limits.connectionsPerUser: must be');
  });
});
