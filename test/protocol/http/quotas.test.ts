import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { restart } from '../../../testing/servers/restart.ts';
import { appAt, newApp, type TestApp } from '../../../testing/servers/test-app.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ onlyOne: 'quotas' });
});
afterAll(() => server[Symbol.asyncDispose]());

async function send(app: TestApp, path: string, body: object): Promise<number> {
  return (await app.post(path, body)).status;
}

const event = { name: 'e', channel: 'x', data: 'd' };

describe('the daily quota of messages', () => {
  it('accepts message N of N, and refuses the next with 403', async () => {
    const app = await newApp(server, { limits: { messagesPerDay: 3 } });
    expect(await send(app, '/events', event)).toBe(200);
    expect((await app.api('GET', '/channels')).status).toBe(200);
    expect(await send(app, '/events', event)).toBe(200);
    const over = await app.post('/events', event);
    expect([over.status, await over.text()]).toEqual([
      403,
      'The app is over its message quota: 3 messages per day (UTC)',
    ]);
    expect((await app.api('GET', '/channels')).status).toBe(403);
  });

  it('counts an event with info as two, and each event of a batch', async () => {
    const app = await newApp(server, { limits: { messagesPerDay: 6 } });
    const presence = { ...event, channel: 'presence-x', info: 'user_count' };
    expect(await send(app, '/events', presence)).toBe(200);
    const batch = { batch: [event, presence] };
    expect(await send(app, '/batch_events', batch)).toBe(200);
    // Five are used: there is room for one, and not for two.
    expect(await send(app, '/events', presence)).toBe(403);
    expect(await send(app, '/events', event)).toBe(200);
    expect(await send(app, '/events', event)).toBe(403);
  });

  it('counts each delivery to a connection, but no refused event', async () => {
    const app = await newApp(server, { limits: { messagesPerDay: 4 } });
    await using ann = await app.connect();
    await using bob = await app.connect();
    await ann.subscribe('x');
    await bob.subscribe('x');
    expect(await send(app, '/events', { ...event, name: '' })).toBe(400);
    expect(await send(app, '/events', event)).toBe(200);
    expect(await send(app, '/events', { ...event, channel: 'empty' })).toBe(200);
    expect(await send(app, '/events', event)).toBe(403);
    await ann.receive();
    await ann.receiveNothing();
  });

  it('is warned of at 5 % and 1 % left, once each', async () => {
    const app = await newApp(server, { limits: { messagesPerDay: 100 } });
    const batch = { batch: Array.from({ length: 5 }, () => event) };
    for (let n = 0; n < 19; n++) expect(await send(app, '/batch_events', batch)).toBe(200);
    const warned = (left: string) => new RegExp(`"app":"${app.id}".*"left":"${left}"`);
    expect(JSON.parse(await server.logged(warned('5%')))).toMatchObject({ level: 'warn' });
    for (let n = 0; n < 4; n++) expect(await send(app, '/events', event)).toBe(200);
    await server.logged(warned('1%'));
    expect(await send(app, '/events', event)).toBe(200);
    await server.logged(warned('0%'));
    const lines = server.output.stderr.split('\n');
    expect(lines.filter((line) => warned('5%').test(line))).toHaveLength(1);
  });

  it('is remembered over a restart', async () => {
    await using first = await startFanfare({
      onlyOne: 'quotas',
      app: { limits: { messagesPerDay: 3 } },
    });
    expect(await send(appAt(first), '/events', event)).toBe(200);
    expect(await send(appAt(first), '/events', event)).toBe(200);
    await using second = await restart(first);
    expect(await send(appAt(second), '/events', event)).toBe(200);
    expect(await send(appAt(second), '/events', event)).toBe(403);
  });
});

describe('the rate of triggers', () => {
  it('has a limit, beyond which 429 with Retry-After is the answer and nothing is sent', async () => {
    const app = await newApp(server, { limits: { triggersPerSecond: 5 } });
    await using ann = await app.connect();
    await ann.subscribe('x');
    const batch = { batch: Array.from({ length: 5 }, () => event) };
    expect(await send(app, '/batch_events', batch)).toBe(200);
    const over = await app.post('/batch_events', batch);
    expect(over.status).toBe(429);
    expect(over.headers.get('retry-after')).toBe('1');
    expect(await over.text()).toBe('Too many events: at most 5 per second');
    for (let n = 0; n < 5; n++) await ann.receive();
    await ann.receiveNothing();
    // Queries have no part in the rate of triggers.
    expect((await app.api('GET', '/channels')).status).toBe(200);
  });

  it('includes refused triggers', async () => {
    const app = await newApp(server, { limits: { triggersPerSecond: 2 } });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push(await send(app, '/events', { ...event, name: '' }));
    expect(statuses).toEqual([400, 400, 429]);
  });
});

describe('the rate of queries', () => {
  it('includes terminating the connections of users', async () => {
    const app = await newApp(server, { limits: { queriesPerSecond: 2 } });
    const statuses = [];
    for (let n = 0; n < 3; n++) {
      statuses.push(await send(app, '/users/u/terminate_connections', {}));
    }
    expect(statuses).toEqual([200, 200, 429]);
    // Triggers have a rate of their own.
    expect(await send(app, '/events', event)).toBe(200);
  });
});
