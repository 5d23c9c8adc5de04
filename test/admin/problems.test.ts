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

it('the admin API tells apart what is wrong with the authentication of a backend', async () => {
  const [app, other] = [await newApp(server), await newApp(server)];
  const asks = (call: object) => app.api('GET', '/channels', call);
  expect(await asks({ key: 'unknown' }).then((answer) => answer.text())).toBe('Unknown auth_key');
  await asks({ key: other.key, secret: other.secret });
  await asks({ secret: 'wrong' });
  const target = `/apps/${app.id}/channels`;
  await fetch(`http://127.0.0.1:${server.port}${target}?auth_version=1.0`);
  await fetch(`http://127.0.0.1:${server.port}/apps/none/channels?auth_key=${app.key}`);
  const titled = (shown: readonly Shown[]) =>
    shown.map(({ text, advice }) => `${text.split(':')[0]} | ${advice.split(':')[0]}`).toSorted();
  expect(titled(await problemsOf(app))).toEqual([
    'Invalid signature | Compare the string in the text with the one your library signed. If they are equal, the secret is wrong',
    'Key of another app | Give the backend the app id, the key and the secret of the same app',
    'Missing parameter | Use a server library, or send all of `auth_key`, `auth_timestamp`, `auth_version`, `auth_signature` and, with a body, `body_md5`. Check that no proxy removes the query.',
    "Unknown key | Compare the key of the backend with the app's",
    'Wrong app id | Set the app id of the backend (`appId`, `app_id`, `PUSHER_APP_ID`) to the id of this app.',
  ]);
  const texts = (await problemsOf(app)).map(({ text }) => text);
  expect(texts).toContain('Missing parameter: auth_key');
  expect(titled(await problemsOf(other))).toEqual([expect.stringContaining('Wrong app id')]);
  await server.logged(/Request refused.*"mistake":"Wrong app id/);
  await server.logged(/Request refused.*"mistake":"Key of another app/);
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
