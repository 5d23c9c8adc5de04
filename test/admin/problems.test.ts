import { afterAll, beforeAll, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../testing/servers/test-app.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ threads: 2, onlyOne: 'figures' });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Shown {
  readonly source: string;
  readonly kind: string;
  readonly text: string;
  readonly advice: string;
  readonly count: number;
  readonly example: Readonly<Record<string, string>>;
}

async function problemsOf(app: TestApp): Promise<readonly Shown[]> {
  const { json } = await admin(server, 'GET', `/apps/${app.id}/problems`);
  return (json as { problems: readonly Shown[] }).problems;
}

it('the admin API groups what clients do wrong on all threads', async () => {
  const app = await newApp(server);
  const clients = await Promise.all(Array.from({ length: 6 }, () => app.connect()));
  const auth = `${app.key}:${'0123456789abcdef'.repeat(4)}`;
  for (const client of clients) {
    client.send({ event: 'pusher:subscribe', data: { channel: 'private-a', auth } });
    expect((await client.receive()).event).toStartWith('pusher');
  }
  const [group, ...others] = await problemsOf(app);
  expect(others).toEqual([]);
  expect(group).toMatchObject({
    source: 'client',
    kind: 'subscription-unauthorised',
    text: 'Invalid signature: Expected HMAC … hex digest of … but got …',
    count: 6,
  });
  // Two threads may have seen one in the same millisecond, so the last one may be another's.
  expect(clients.map(({ socketId }) => socketId)).toContain(Object(group?.example).socket);
  expect(group?.advice).toContain('Compare');
  expect(JSON.stringify(group)).not.toContain('0123456789abcdef');
  for (const client of clients) await client[Symbol.asyncDispose]();
});

it('the admin API shows refused connections and refused requests of backends', async () => {
  const app = await newApp(server, { limits: { connections: 1 } });
  await using _first = await app.connect();
  await using second = await RawClient.open(server, { path: pathOf(7, app.key) });
  expect((await second.closed).code).toBe(4004);
  expect((await app.api('GET', '/channels', { secret: 'wrong' })).status).toBe(401);
  expect((await app.post('/events', { name: 'e', channel: 'a b', data: '' })).status).toBe(400);
  const problems = await problemsOf(app);
  // The newest first; but two of them may have come in the same millisecond.
  expect(problems.map(({ source, kind }) => `${source} ${kind}`).toSorted()).toEqual([
    'backend invalid',
    'backend unauthenticated',
    'connection app-over-quota',
  ]);
  const invalid = problems.find(({ kind }) => kind === 'invalid');
  expect(invalid?.example).toMatchObject({
    address: '127.0.0.1',
    path: `/apps/${app.id}/events`,
  });
  expect(JSON.stringify(problems)).not.toContain(app.secret);
  // Those of another app are none of its business.
  expect(await problemsOf(await newApp(server))).toEqual([]);
});
