import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  BACKEND,
  BACKEND_JSON,
  fieldRefusal,
  INSTANCE,
  JSON_HEADERS,
  NEIGHBOUR,
  NO_INSTANCE,
  PUBLISH_ID,
  publish,
  publishes,
  refusal,
  startPush,
  TO_INTERESTS,
  TO_USERS,
  UNKNOWN,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const fcm = TO_USERS.fcm;
const toUsers = (users: unknown) => publish(server, '/users', { users, fcm });

/** A publish of so many bytes. */
function ofBytes(bytes: number): string {
  const body = JSON.stringify(TO_USERS);
  return body + ' '.repeat(bytes - body.length);
}

describe('a publish to users', () => {
  it('is accepted with 200 and its id', async () => {
    const answer = await publish(server, '/users', TO_USERS);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.json).toEqual({ publishId: expect.stringMatching(PUBLISH_ID) });
    expect(answer.text).toEndWith('}\n');
  });

  it('is not one to the interests that it names beside them', async () => {
    expect((await publish(server, '/users', { ...TO_USERS, interests: [':'] })).status).toBe(200);
    expect((await publish(server, '/interests', { ...TO_INTERESTS, users: [''] })).status).toBe(
      200,
    );
  });
});

/** Each row of the seed's table. */
describe('a publish to users is refused', () => {
  const target = publishes('/users');
  it.each([
    [
      'whose content type is another',
      target,
      { ...BACKEND, 'content-type': 'text/plain' },
      refusal(400, 'Invalid content type'),
    ],
    ['whose content type is missing', target, BACKEND, refusal(400, 'Invalid content type')],
    [
      'whose path has no instance id',
      '/publish_api/v1/instances//publishes/users',
      BACKEND_JSON,
      refusal(400, 'Incomplete Request', /instance-id/),
    ],
    [
      'whose path has no instance',
      '/publish_api/v1/publishes/users',
      BACKEND_JSON,
      refusal(400, 'Incomplete Request', /instance-id/),
    ],
    [
      'without Authorization',
      target,
      JSON_HEADERS,
      refusal(400, 'Incomplete Request', /Authorization/),
    ],
    [
      'with a wrong key',
      target,
      { ...JSON_HEADERS, authorization: `Bearer ${NEIGHBOUR.secretKey}` },
      refusal(401, 'Unauthorized', 'Incorrect Secret Key'),
    ],
    [
      'with a key without Bearer',
      target,
      { ...JSON_HEADERS, authorization: INSTANCE.secretKey },
      refusal(401, 'Unauthorized', 'Incorrect Secret Key'),
    ],
    ['of an unknown instance', publishes('/users', UNKNOWN), BACKEND_JSON, NO_INSTANCE],
    ['of an instance without a UUID', publishes('/users', 'x'), BACKEND_JSON, NO_INSTANCE],
  ] as const)('%s', async (_, path, headers, expected) => {
    expect(await ask(server, 'POST', path, { headers, body: TO_USERS })).toMatchObject(expected);
  });

  it.each(['', 'null', '[]', '"ann"', '7', '{', '{"users":["ann"]'])(
    'whose body is no JSON object: %j',
    async (body) => {
      expect(await publish(server, '/users', body)).toMatchObject(
        refusal(400, 'Bad request', 'The body cannot be read as a JSON object'),
      );
    },
  );

  it('whose body has more than 200 KiB', async () => {
    expect((await publish(server, '/users', ofBytes(204_800))).status).toBe(200);
    expect(await publish(server, '/users', ofBytes(204_801))).toMatchObject(
      refusal(400, 'Bad request', /200 KiB/),
    );
    const send = (chunks: readonly string[]) =>
      ask(server, 'POST', target, { headers: BACKEND_JSON, chunks });
    expect((await send([ofBytes(204_800)])).status).toBe(200);
    expect(await send([ofBytes(204_800), ' '])).toMatchObject(
      refusal(400, 'Bad request', /200 KiB/),
    );
  });
});

describe('users', () => {
  it('are required, in the words of the hosted service', async () => {
    for (const body of [{ fcm }, { users: null, fcm }, { ...TO_INTERESTS }, {}]) {
      expect(await publish(server, '/users', body)).toMatchObject(
        refusal(422, 'Unprocessable Entity', '`users`: users is required'),
      );
    }
  });

  it.each<unknown>(['ann', 7, true, {}, { 0: 'ann', length: 1 }])(
    'are an array, not %j',
    async (users) => {
      expect(await toUsers(users)).toMatchObject(fieldRefusal('users'));
    },
  );

  it('are 1 to 1000', async () => {
    const many = Array.from({ length: 1001 }, (_, index) => `user ${index}`);
    expect(await toUsers([])).toMatchObject(fieldRefusal('users'));
    expect((await toUsers(many.slice(0, 1))).status).toBe(200);
    expect((await toUsers(many.slice(0, 1000))).status).toBe(200);
    expect(await toUsers(many)).toMatchObject(fieldRefusal('users'));
  });

  it('may be named twice, which counts twice', async () => {
    expect((await toUsers(Array(1000).fill('ann'))).status).toBe(200);
    expect(await toUsers(Array(1001).fill('ann'))).toMatchObject(fieldRefusal('users'));
  });

  it('may all be as long as they can be', async () => {
    const many = Array.from(
      { length: 1000 },
      (_, index) => String(index).padStart(4, '0') + 'é'.repeat(80),
    );
    expect(Buffer.byteLength(many[0] ?? '')).toBe(164);
    expect((await toUsers(many)).status).toBe(200);
  });

  it.each([
    ['a', 1],
    ['é', 2],
    ['€', 3],
    ['😀', 4],
  ])('have 164 bytes of UTF-8 at most: %s', async (character, bytes) => {
    const most = character.repeat(Math.floor(164 / bytes)) + 'x'.repeat(164 % bytes);
    expect(Buffer.byteLength(most)).toBe(164);
    expect((await toUsers([most])).status).toBe(200);
    for (const tooLong of [`${most}x`, character.repeat(164 / bytes + 1)]) {
      expect(await toUsers(['ann', tooLong])).toMatchObject(fieldRefusal('users.1'));
    }
  });

  it('count by their bytes however JSON writes them', async () => {
    const body = (user: string) => `{"users":["${user}"],"fcm":{"notification":{"title":"Hi"}}}`;
    expect((await publish(server, '/users', body('\\u00e9'.repeat(82)))).status).toBe(200);
    expect(await publish(server, '/users', body('\\u00e9'.repeat(83)))).toMatchObject(
      fieldRefusal('users.0'),
    );
  });

  it.each([
    ' ',
    'ann smith',
    'ann@example.org',
    'a/b?c#d%20+',
    'Ünïcödé',
    '日本',
    '👩‍👩‍👧',
    '\t\n\u007f',
    '\\',
    '"',
    'e\u0301',
    '__proto__',
    'constructor',
    '..',
    ':',
  ])('may have any characters: %j', async (user) => {
    expect((await toUsers([user])).status).toBe(200);
  });

  it.each(['', '\u0000', 'a\u0000b', '\ud800', 'a\udc00', '\udc00\ud800'])(
    'are texts that can be kept, not %j',
    async (user) => {
      expect(await toUsers(['ann', user])).toMatchObject(fieldRefusal('users.1'));
    },
  );

  it.each<[unknown]>([[null], [7], [true], [{}], [[]], [['ann']]])(
    'are strings, not %j',
    async (entry) => {
      expect(await toUsers(['ann', entry])).toMatchObject(fieldRefusal('users.1'));
    },
  );
});
