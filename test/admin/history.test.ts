import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { admin } from '../../testing/clients/admin-api.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../testing/servers/test-app.ts';
import { fanfare } from '../cli/run-fanfare.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ threads: 2 });
});
afterAll(() => server[Symbol.asyncDispose]());

const history = [{ channels: 'few-*', events: 3 }, { channels: 'private-encrypted-*' }];
const makeApp = () => newApp(server, { history });

async function publishes(app: TestApp, channel: string, names: string): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names.split(' ')) {
    const response = await app.post('/events', { name, channel, data: `{"of":"${name}"}` });
    ids.push(JSON.parse(await response.text()).event_ids[channel]);
  }
  return ids;
}

const ask = (app: TestApp, channel: string, query = '') =>
  admin(server, 'GET', `/apps/${app.id}/channels/${channel}/history${query}`);
const names = (json: unknown) =>
  (json as { events: { name: string }[] }).events.map(({ name }) => name).join(' ');

describe('the history of a channel in the admin API', () => {
  it('is listed with its rule, and with what a client gets after an event', async () => {
    const app = await makeApp();
    const ids = await publishes(app, 'few-a', 'a b c d e');
    const { status, json } = await ask(app, 'few-a');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      name: 'few-a',
      rule: { events: 3, seconds: 120, bytes: 1_048_576, replay: 0 },
      lastId: ids[4],
      more: false,
      complete: null,
    });
    expect((json as { events: unknown[] }).events[0]).toEqual({
      id: ids[4],
      name: 'e',
      data: '{"of":"e"}',
      bytes: 10,
      atMs: expect.any(Number),
      exceptSocketId: null,
    });
    expect(names(json)).toBe('e d c');
    const page = await ask(app, 'few-a', '?limit=2');
    expect([names(page.json), (page.json as { more: boolean }).more]).toEqual(['e d', true]);
    expect(names((await ask(app, 'few-a', `?before=${ids[3]}`)).json)).toBe('c');
    const after = async (id = '') => (await ask(app, 'few-a', `?after=${id}`)).json;
    expect(await after(ids[2])).toMatchObject({ complete: true, lastId: ids[4] });
    expect(names(await after(ids[2]))).toBe('d e');
    expect(await after(ids[0])).toMatchObject({ complete: false });
  });

  it('has no data of encrypted channels', async () => {
    const app = await makeApp();
    await publishes(app, 'private-encrypted-a', 'a');
    const { json } = await ask(app, 'private-encrypted-a');
    expect(json).toMatchObject({ events: [{ name: 'a', data: null, bytes: 10 }] });
  });

  it('is empty without a rule', async () => {
    const app = await makeApp();
    expect((await ask(app, 'news')).json).toMatchObject({ rule: null, events: [], lastId: null });
  });

  it.each(['?after=x', '?before=1-A', '?after=1-abcdefgh&before=1-abcdefgh', '?limit=0'])(
    'is refused with %s',
    async (query) => {
      expect((await ask(await makeApp(), 'few-a', query)).status).toBe(400);
    },
  );

  it('is forgotten', async () => {
    const app = await makeApp();
    const [first = ''] = await publishes(app, 'few-a', 'a b');
    const line = server.logsNext(/History forgotten by an operator/);
    const path = `/apps/${app.id}/channels/few-a/history`;
    const { status, json } = await admin(server, 'DELETE', path);
    expect([status, json]).toEqual([200, { name: 'few-a', forgotten: true }]);
    expect(await line).toContain(app.id);
    expect((await ask(app, 'few-a', `?after=${first}`)).json).toMatchObject({
      events: [],
      complete: false,
    });
  });
});

describe('fanfare history', () => {
  it('prints the kept events, and what a client gets after one', async () => {
    const app = await makeApp();
    const url = `http://127.0.0.1:${server.adminPort}`;
    const config = join(server.directory, 'config.json');
    const run = (...args: string[]) =>
      fanfare(server.directory, ['history', ...args, '--url', url, '--config', config]);
    const ids = await publishes(app, 'few-a', 'a b c d');
    const listed = await run(app.id, 'few-a', '--limit', '2');
    expect(listed.stdout).toMatch(
      new RegExp(`Z  ${ids[3]}  d  {"of":"d"}\\n.*  ${ids[2]}  c  .*\\n.*--before ${ids[2]}\\n$`),
    );
    expect((await run(app.id, 'few-a', '--after', ids[2] ?? '')).stdout).toStartWith(
      'A client whose last event was this one gets 1 event.\n',
    );
    expect((await run(app.id, 'few-a', '--after', '1-abcdefgh')).stdout).toStartWith(
      'A client whose last event was this one learns of a gap',
    );
    expect((await run(app.id, 'few-b')).stdout).toBe(
      'few-b has no kept events. It keeps up to 3 events of the last 120 s.\n',
    );
    const none = await run(app.id, 'news');
    expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining('keeps no history')]);
    expect((await run(app.id)).exitCode).toBe(2);
  });
});
