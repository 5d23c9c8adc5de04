import { describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { api } from '../../../testing/clients/sign.ts';
import {
  APP,
  configOf,
  type Fanfare,
  spawnFanfare,
  startFanfare,
} from '../../../testing/servers/fanfare.ts';

const EVENTS = `/apps/${APP.id}/events`;
const CHANNELS = `/apps/${APP.id}/channels`;

async function send(server: Fanfare, path: string, body: object): Promise<number> {
  return (await api(server, 'POST', path, { body: JSON.stringify(body) })).status;
}

const event = { name: 'e', channel: 'x', data: 'd' };

describe('the daily quota of messages', () => {
  it('accepts message N of N, and refuses the next with 403', async () => {
    await using server = await startFanfare({ app: { limits: { messagesPerDay: 3 } } });
    expect(await send(server, EVENTS, event)).toBe(200);
    expect((await api(server, 'GET', CHANNELS)).status).toBe(200);
    expect(await send(server, EVENTS, event)).toBe(200);
    const over = await api(server, 'POST', EVENTS, { body: JSON.stringify(event) });
    expect([over.status, await over.text()]).toEqual([
      403,
      'The app is over its message quota: 3 messages per day (UTC)',
    ]);
    expect((await api(server, 'GET', CHANNELS)).status).toBe(403);
  });

  it('counts an event with info as two, and a batch as its events', async () => {
    await using server = await startFanfare({ app: { limits: { messagesPerDay: 6 } } });
    const presence = { ...event, channel: 'presence-x', info: 'user_count' };
    expect(await send(server, EVENTS, presence)).toBe(200);
    const batch = { batch: [event, presence] };
    expect(await send(server, `/apps/${APP.id}/batch_events`, batch)).toBe(200);
    // Five are used: there is room for one, and not for two.
    expect(await send(server, EVENTS, presence)).toBe(403);
    expect(await send(server, EVENTS, event)).toBe(200);
    expect(await send(server, EVENTS, event)).toBe(403);
  });

  it('counts each delivery to a connection, and not what was refused', async () => {
    await using server = await startFanfare({ app: { limits: { messagesPerDay: 4 } } });
    await using ann = await RawClient.connect(server);
    await using bob = await RawClient.connect(server);
    await ann.subscribes('x');
    await bob.subscribes('x');
    expect(await send(server, EVENTS, { ...event, name: '' })).toBe(400);
    expect(await send(server, EVENTS, event)).toBe(200);
    expect(await send(server, EVENTS, { ...event, channel: 'empty' })).toBe(200);
    expect(await send(server, EVENTS, event)).toBe(403);
    await ann.hears();
    await ann.hearsNothing();
  });

  it('warns 5 % and 1 % before it is used up, once each', async () => {
    await using server = await startFanfare({ app: { limits: { messagesPerDay: 100 } } });
    const batch = { batch: Array.from({ length: 5 }, () => event) };
    for (let n = 0; n < 19; n++)
      expect(await send(server, `/apps/${APP.id}/batch_events`, batch)).toBe(200);
    expect(JSON.parse(await server.logged(/"left":"5%"/))).toMatchObject({
      level: 'warn',
      app: APP.id,
    });
    for (let n = 0; n < 4; n++) expect(await send(server, EVENTS, event)).toBe(200);
    await server.logged(/"left":"1%"/);
    expect(await send(server, EVENTS, event)).toBe(200);
    await server.logged(/"left":"0%"/);
    expect(server.output.stderr.split('"left":"5%"')).toHaveLength(2);
  });

  it('is remembered over a restart', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-quota-'));
    const file = join(directory, 'config.json');
    await Bun.write(
      file,
      JSON.stringify(configOf(directory, { app: { limits: { messagesPerDay: 3 } } })),
    );
    {
      await using server = await spawnFanfare(['serve', '--config', file], directory);
      expect(await send(server, EVENTS, event)).toBe(200);
      expect(await send(server, EVENTS, event)).toBe(200);
      expect(await server.stop()).toBe(0);
    }
    {
      await using server = await spawnFanfare(['serve', '--config', file], directory);
      expect(await send(server, EVENTS, event)).toBe(200);
      expect(await send(server, EVENTS, event)).toBe(403);
    }
    rmSync(directory, { recursive: true });
  });
});

describe('the rate of triggers', () => {
  it('is refused beyond its limit with 429 and Retry-After, and nothing is sent', async () => {
    await using server = await startFanfare({ app: { limits: { triggersPerSecond: 5 } } });
    await using ann = await RawClient.connect(server);
    await ann.subscribes('x');
    const batch = { batch: Array.from({ length: 5 }, () => event) };
    expect(await send(server, `/apps/${APP.id}/batch_events`, batch)).toBe(200);
    const over = await api(server, 'POST', `/apps/${APP.id}/batch_events`, {
      body: JSON.stringify(batch),
    });
    expect(over.status).toBe(429);
    expect(over.headers.get('retry-after')).toBe('1');
    expect(await over.text()).toBe('Too many events: at most 5 per second');
    for (let n = 0; n < 5; n++) await ann.hears();
    await ann.hearsNothing();
    // Reading is not triggering.
    expect((await api(server, 'GET', CHANNELS)).status).toBe(200);
  });

  it('is taken by what is refused as well', async () => {
    await using server = await startFanfare({ app: { limits: { triggersPerSecond: 2 } } });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push(await send(server, EVENTS, { ...event, name: '' }));
    expect(statuses).toEqual([400, 400, 429]);
  });
});

describe('the rate of questions', () => {
  it('is taken by ending the connections of users as well', async () => {
    await using server = await startFanfare({ app: { limits: { queriesPerSecond: 2 } } });
    const statuses = [];
    for (let n = 0; n < 3; n++) {
      statuses.push(await send(server, `/apps/${APP.id}/users/u/terminate_connections`, {}));
    }
    expect(statuses).toEqual([200, 200, 429]);
    // Triggers have a rate of their own.
    expect(await send(server, EVENTS, event)).toBe(200);
  });
});
