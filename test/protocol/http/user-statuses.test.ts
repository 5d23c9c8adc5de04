import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, appAt, newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import { posts, refused } from './exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

const WRONG = refused(400, 'user_ids: must be 1 to 1000 user ids');

interface Row {
  readonly id: string;
  readonly online: boolean;
  readonly since_ms: number | null;
  readonly last_seen_ms: number | null;
}

async function statuses(app: TestApp, userIds: readonly string[]): Promise<readonly Row[]> {
  const { status, text } = await posts(app, '/users/status', { user_ids: userIds });
  expect(status).toBe(200);
  return JSON.parse(text).users;
}

async function signedIn(app: TestApp, id: string): Promise<AppClient> {
  const client = await app.connect();
  client.send(app.signIn(client, { id }));
  expect((await client.receive()).event).toBe('pusher:signin_success');
  return client;
}

describe.concurrent('POST /users/status', () => {
  it('says who is online since when, and when others were last seen, in the order asked', async () => {
    const app = await newApp(server, { offlineSeconds: 0 });
    const beforeMs = Date.now();
    await using ann = await signedIn(app, 'ann');
    const afterMs = Date.now();
    await using _another = await signedIn(app, 'ann');
    const bob = await signedIn(app, 'bob');
    await ann[Symbol.asyncDispose]();
    const leftMs = Date.now();
    await bob[Symbol.asyncDispose]();
    const users = await eventually(
      () => statuses(app, ['bob', 'ann', 'eve', 'bob']),
      ([first]) => first?.online === false,
    );
    const eve = { id: 'eve', online: false, since_ms: null, last_seen_ms: null };
    expect(users).toEqual([
      { id: 'bob', online: false, since_ms: null, last_seen_ms: expect.any(Number) },
      { id: 'ann', online: true, since_ms: expect.any(Number), last_seen_ms: null },
      eve,
      { id: 'bob', online: false, since_ms: null, last_seen_ms: expect.any(Number) },
    ]);
    const [{ last_seen_ms: seenMs } = eve, { since_ms: sinceMs } = eve] = users;
    expect(sinceMs).toBeWithin(beforeMs, afterMs + 1);
    expect(seenMs).toBeWithin(leftMs, Date.now() + 1);
  });

  it('lets a user without connections be online for as long as the app says', async () => {
    const app = await newApp(server, { offlineSeconds: 300 });
    const ann = await signedIn(app, 'ann');
    await ann[Symbol.asyncDispose]();
    // The end of a connection is handled before a later request of another one.
    await using _later = await signedIn(app, 'bob');
    expect(await statuses(app, ['ann'])).toMatchObject([{ online: true, last_seen_ms: null }]);
  });

  it('takes 1,000 users, and each 50 of them count as a query', async () => {
    const app = await newApp(server, { limits: { queriesPerSecond: 30 } });
    const ids = Array.from({ length: 1000 }, (_, n) => `user-${n}-${'x'.repeat(170)}`);
    await using _last = await signedIn(app, ids[999] ?? '');
    const users = await statuses(app, ids);
    expect(users.map(({ id }) => id)).toEqual(ids);
    expect(users.map(({ online }) => online)).toEqual(ids.map((_, n) => n === 999));
    await statuses(app, ids);
    expect((await posts(app, '/users/status', { user_ids: ['ann'] })).status).toBe(429);
  });

  it.each([
    ['no field', {}],
    ['no user', { user_ids: [] }],
    ['1,001 users', { user_ids: Array.from({ length: 1001 }, (_, n) => `user-${n}`) }],
    ['100,000 values', { user_ids: [Array.from({ length: 100_000 }, () => 1)] }],
    ['a text', { user_ids: 'ann' }],
    ['a number', { user_ids: [7] }],
    ['an empty id', { user_ids: [''] }],
    ['an id that no user can have', { user_ids: ['ann and bob'] }],
    ['a long id', { user_ids: ['x'.repeat(201)] }],
  ])('refuses %s', async (_, body) => {
    expect(await posts(server, '/users/status', body)).toEqual(WRONG);
  });

  it('refuses other fields, other parameters, no object and too many bytes', async () => {
    const right = { user_ids: ['ann'] };
    const answers = [
      await posts(server, '/users/status', { ...right, users: [] }),
      await posts(server, '/users/status', right, { query: { info: 'x' } }),
      await posts(server, '/users/status', '[]'),
      await posts(server, '/users/status', { user_ids: ['x'.repeat(262_144)] }),
    ];
    expect(answers.map(({ status, text }) => `${status} ${text.trim()}`)).toEqual([
      '400 users: unknown field',
      '400 The following query string parameters are extraneous: info',
      '400 The body must be a JSON object',
      '400 The body may have at most 262144 bytes',
    ]);
  });

  it('is no question of GET', async () => {
    const answer = await appAt(server).api('GET', '/users/status');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST');
  });
});
