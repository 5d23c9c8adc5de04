import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import { restart } from '../../../../testing/servers/restart.ts';
import {
  ask,
  BACKEND_JSON,
  INSTANCE,
  NEIGHBOUR,
  publish,
  publishes,
  refusal,
  startPush,
  TO_INTERESTS,
  TO_USERS,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const KEY_TAKEN = refusal(422, 'Unprocessable Entity', /^`Idempotency-Key`: /);
const BAD_KEY = refusal(400, 'Bad request', /Idempotency-Key/);

const withKey = (key: string, body: unknown = TO_INTERESTS, at: Fanfare = server) =>
  publish(at, '/interests', body, { 'idempotency-key': key });

describe('a publish with an Idempotency-Key', () => {
  it('is accepted once: a repetition gets the same answer', async () => {
    const key = randomUUID();
    const first = await withKey(key);
    expect(first.status).toBe(200);
    for (const _ of [1, 2]) {
      const { status, text } = await withKey(key);
      expect([status, text]).toEqual([200, first.text]);
    }
  });

  it('is accepted once even if it comes many times at the same moment', async () => {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 30 }, () => withKey(key)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
  });

  it('is accepted once even if many different bodies come at the same moment', async () => {
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        withKey(key, { ...TO_INTERESTS, interests: [`i${index}`] }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array(19).fill(422)]);
  });

  it('works the same for users', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const first = await publish(server, '/users', TO_USERS, headers);
    expect((await publish(server, '/users', TO_USERS, headers)).text).toBe(first.text);
    const other = { ...TO_USERS, users: ['bob'] };
    expect(await publish(server, '/users', other, headers)).toMatchObject(KEY_TAKEN);
  });

  it('works the same at the old path', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const first = await publish(server, '', TO_INTERESTS, headers);
    expect((await publish(server, '/interests', TO_INTERESTS, headers)).text).toBe(first.text);
  });

  it.each<[string, unknown]>([
    ['other interests', { ...TO_INTERESTS, interests: ['other'] }],
    ['another payload', { ...TO_INTERESTS, web: {} }],
    ['another time', { ...TO_INTERESTS, sendAt: new Date(Date.now() + 60_000).toISOString() }],
    ['other bytes', `${JSON.stringify(TO_INTERESTS)} `],
  ])('is refused with 422 if its body differs: %s', async (_, body) => {
    const key = randomUUID();
    const first = await withKey(key);
    expect(await withKey(key, body)).toMatchObject(KEY_TAKEN);
    expect((await withKey(key)).text).toBe(first.text);
  });

  it('is refused with 422 if the first was of the other kind', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const both = { ...TO_INTERESTS, ...TO_USERS };
    expect((await publish(server, '/interests', both, headers)).status).toBe(200);
    expect(await publish(server, '/users', both, headers)).toMatchObject(KEY_TAKEN);
  });

  it('is independent of other instances', async () => {
    const key = randomUUID();
    const first = await withKey(key);
    const target = publishes('/interests', NEIGHBOUR.id);
    const authorization = `Bearer ${NEIGHBOUR.secretKey}`;
    const headers = { ...BACKEND_JSON, authorization, 'idempotency-key': key };
    const body = { ...TO_INTERESTS, interests: ['other'] };
    const other = await ask(server, 'POST', target, { headers, body });
    expect(other.status).toBe(200);
    expect(other.text).not.toBe(first.text);
  });

  it('does not use up its key if it is refused', async () => {
    const key = randomUUID();
    expect((await withKey(key, {})).status).toBe(422);
    expect((await withKey(key, '[')).status).toBe(400);
    const wrong = { authorization: 'Bearer wrong', 'idempotency-key': key };
    expect((await publish(server, '/interests', TO_INTERESTS, wrong)).status).toBe(401);
    expect((await withKey(key)).status).toBe(200);
  });

  it('is compared by the case of its key', async () => {
    const key = `a${randomUUID()}`;
    const first = await withKey(key);
    expect((await withKey(key.toUpperCase())).text).not.toBe(first.text);
  });

  it('may have any visible ASCII in its key, 1 to 255 characters', async () => {
    const visible = Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).join('');
    for (const key of [
      '!',
      visible,
      randomUUID().padEnd(255, 'x'),
      `'; DROP TABLE publishes;--`.replaceAll(' ', ''),
    ]) {
      expect([key, (await withKey(key)).status]).toEqual([key, 200]);
    }
  });

  it.each(['', 'x'.repeat(256), 'a b', 'a\tb', 'é', '\u0080', '\u00ff'])(
    'may not have the key %j',
    async (key) => {
      expect(await withKey(key)).toMatchObject(BAD_KEY);
    },
  );

  it('has one key', async () => {
    const headers = { 'idempotency-key': 'a', 'Idempotency-Key': 'b' };
    expect(await publish(server, '/interests', TO_INTERESTS, headers)).toMatchObject(BAD_KEY);
  });
});

describe('without one', () => {
  it('each publish is a new one', async () => {
    const [first, second] = [
      await publish(server, '/interests', TO_INTERESTS),
      await publish(server, '/interests', TO_INTERESTS),
    ];
    expect(second.text).not.toBe(first.text);
  });
});

it('is remembered after a crash', async () => {
  await using before = await startPush();
  const key = randomUUID();
  const first = await withKey(key, TO_INTERESTS, before);
  await using after = await restart(before, 'SIGKILL');
  expect(await withKey(key, TO_INTERESTS, after)).toMatchObject({ status: 200, text: first.text });
  expect(await withKey(key, { ...TO_INTERESTS, web: {} }, after)).toMatchObject(KEY_TAKEN);
  expect(first.text).toContain('pubid-');
  expect(after.output.stderr).not.toContain(INSTANCE.secretKey);
});
