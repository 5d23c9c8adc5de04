import { describe, expect, it } from 'bun:test';
import { NO_LIMITS } from '../../../../../testing/push-limits.ts';
import {
  BACKEND,
  BACKEND_JSON,
  INSTANCE,
  JSON_HEADERS,
  NOW_MS,
  PushApi,
  publishes,
  SECRET,
  UNKNOWN,
} from '../endpoints.fixture.ts';

const TO_INTERESTS = { interests: ['shop'], fcm: { notification: { title: 'Hi' } } };
const TO_USERS = { users: ['ann'], web: { notification: { title: 'Hi' } } };
const ID = /^pubid-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function limited(limits: Partial<typeof INSTANCE.limits>): PushApi {
  const api = new PushApi();
  api.instance = { ...INSTANCE, limits: { ...INSTANCE.limits, ...limits } };
  return api;
}

const publish = (api: PushApi, headers: object = {}, body: unknown = TO_INTERESTS) =>
  api.ask('POST', publishes('/interests'), { headers: { ...BACKEND_JSON, ...headers }, body });

describe('a publish that finds little room', () => {
  it('makes others give way, and waits for that only if it finds none', async () => {
    const api = new PushApi();
    api.room = 5;
    api.makeRoom = () => new Promise(() => undefined);
    for (const asked of [[], [], [], [0], [0, 0]]) {
      expect(await publish(api)).toMatchObject({ status: 200 });
      expect(api.roomAsked).toEqual(asked);
    }
    // Another one takes the first room.
    api.makeRoom = async () => {
      if (api.roomAsked.length === 4) api.room = 6;
      return true;
    };
    expect(await publish(api)).toMatchObject({ status: 200 });
    expect(api.publishes).toHaveLength(6);
    expect(api.roomAsked).toEqual([0, 0, 512, 512]);
  });

  it('gets 429 if none gives way', async () => {
    const api = new PushApi();
    api.room = 0;
    expect(await publish(api)).toMatchObject({ status: 429, retryAfter: 30 });
    expect(api.roomAsked).toEqual([512]);
  });
});

describe('a publish', () => {
  for (const [path, body, kind] of [
    ['/interests', TO_INTERESTS, 'interests'],
    ['', TO_INTERESTS, 'interests'],
    ['/users', TO_USERS, 'users'],
  ] as const) {
    it(`to ${kind} by the path ending in publishes${path} is stored, then answered with its id`, async () => {
      const api = new PushApi();
      const heard = await api.ask('POST', publishes(path), { headers: BACKEND_JSON, body });
      expect(heard).toEqual({ status: 200, json: { publishId: expect.stringMatching(ID) } });
      expect(api.publishes).toEqual([
        {
          id: (heard.json as { publishId: never }).publishId,
          instance: 1,
          createdAtMs: NOW_MS,
          target: { kind, names: [kind === 'users' ? 'ann' : 'shop'] },
          platforms: [kind === 'users' ? 'web' : 'fcm'],
          webhookUrl: undefined,
          sendAtMs: undefined,
          idempotency: undefined,
          devicesMax: 0,
          pendingBytesMax: 0,
          body: JSON.stringify(body),
        },
      ]);
      expect([api.worked, api.failures]).toEqual([1, []]);
    });
  }

  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;',
    ' application/json ; charset="utf-8" ',
  ]) {
    it(`may have the Content-Type ${JSON.stringify(type)}`, async () => {
      expect(await publish(new PushApi(), { 'content-type': type })).toMatchObject({ status: 200 });
    });
  }

  for (const authorization of [
    `bearer ${SECRET}`,
    `BEARER   ${SECRET}  `,
    // While keys are rotated, all of them are valid.
    'Bearer the next one',
  ]) {
    it(`may be authorised by ${authorization.slice(0, 20)}…`, async () => {
      expect(await publish(new PushApi(), { authorization })).toMatchObject({ status: 200 });
    });
  }

  it('is authorised by a key with non-ASCII characters, sent as UTF-8', async () => {
    const api = new PushApi();
    api.instance = { ...INSTANCE, secretKeys: ['schlüssel'] };
    const authorization = Buffer.from('Bearer schlüssel').toString('latin1');
    expect(await publish(api, { authorization })).toMatchObject({ status: 200 });
  });

  it('finds the instance by its id in any case', async () => {
    const path = publishes('/interests', INSTANCE.id.toUpperCase());
    const heard = await new PushApi().ask('POST', path, {
      headers: BACKEND_JSON,
      body: TO_INTERESTS,
    });
    expect(heard.status).toBe(200);
  });

  it('is refused as soon as its key is replaced', async () => {
    const api = new PushApi();
    expect(await publish(api)).toMatchObject({ status: 200 });
    api.instance = { ...INSTANCE, secretKeys: ['another'] };
    expect(await publish(api)).toMatchObject({ status: 401 });
  });
});

/** Each row of the seed's table, except the size of the body, which the listener checks. */
describe('a publish is refused', () => {
  const rows: readonly (readonly [
    what: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: unknown,
    status: number,
    error: string,
    description: string,
  ])[] = [
    [
      'whose content type is another',
      publishes('/interests'),
      { ...BACKEND, 'content-type': 'text/plain' },
      TO_INTERESTS,
      400,
      'Invalid content type',
      'application/json',
    ],
    [
      'whose content type only begins like JSON',
      publishes('/interests'),
      { ...BACKEND, 'content-type': 'application/json5' },
      TO_INTERESTS,
      400,
      'Invalid content type',
      'application/json',
    ],
    [
      'that names no content type',
      publishes('/interests'),
      BACKEND,
      TO_INTERESTS,
      400,
      'Invalid content type',
      'application/json',
    ],
    [
      'without an instance id',
      '/publish_api/v1/instances//publishes/interests',
      BACKEND_JSON,
      TO_INTERESTS,
      400,
      'Incomplete Request',
      'instance id',
    ],
    [
      'without an Authorization header',
      publishes('/interests'),
      JSON_HEADERS,
      TO_INTERESTS,
      400,
      'Incomplete Request',
      'Authorization header',
    ],
    [
      'with an empty Authorization header',
      publishes('/interests'),
      { ...JSON_HEADERS, authorization: '' },
      TO_INTERESTS,
      400,
      'Incomplete Request',
      'Authorization header',
    ],
    [
      'with a wrong key',
      publishes('/interests'),
      { ...JSON_HEADERS, authorization: 'Bearer wrong' },
      TO_INTERESTS,
      401,
      'Unauthorized',
      'Incorrect Secret Key',
    ],
    [
      'with a key without Bearer',
      publishes('/interests'),
      { ...JSON_HEADERS, authorization: SECRET },
      TO_INTERESTS,
      401,
      'Unauthorized',
      'Incorrect Secret Key',
    ],
    [
      'with Bearer without a key',
      publishes('/interests'),
      { ...JSON_HEADERS, authorization: 'Bearer ' },
      TO_INTERESTS,
      401,
      'Unauthorized',
      'Incorrect Secret Key',
    ],
    [
      'of an unknown instance',
      publishes('/interests', UNKNOWN),
      BACKEND_JSON,
      TO_INTERESTS,
      404,
      'Instance not found',
      'Could not find the instance',
    ],
    [
      'of an instance whose id is no UUID',
      publishes('/interests', '%00not-a-uuid'),
      BACKEND_JSON,
      TO_INTERESTS,
      404,
      'Instance not found',
      'Could not find the instance',
    ],
    [
      'whose body is an array',
      publishes('/interests'),
      BACKEND_JSON,
      '[]',
      400,
      'Bad request',
      'JSON object',
    ],
    ['without a body', publishes('/users'), BACKEND_JSON, '', 400, 'Bad request', 'JSON object'],
    [
      'without interests',
      publishes('/interests'),
      BACKEND_JSON,
      TO_USERS,
      422,
      'Unprocessable Entity',
      '`interests`: interests is required',
    ],
    [
      'without users',
      publishes('/users'),
      BACKEND_JSON,
      TO_INTERESTS,
      422,
      'Unprocessable Entity',
      '`users`: users is required',
    ],
    [
      'whose idempotency key has a space',
      publishes('/interests'),
      { ...BACKEND_JSON, 'idempotency-key': 'a b' },
      TO_INTERESTS,
      400,
      'Bad request',
      'Idempotency-Key',
    ],
  ];
  for (const [what, path, headers, body, status, error, description] of rows) {
    it(what, async () => {
      const api = new PushApi();
      expect(await api.ask('POST', path, { headers, body })).toEqual({
        status,
        error,
        description: expect.stringContaining(description),
      });
      expect([api.publishes, api.asked]).toEqual([[], []]);
    });
  }

  it('for the first rule that it breaks in the order of checks', async () => {
    const api = limited({ publishesPerSecond: 1 });
    await api.register('fcm');
    await api.register('apns');
    for (const { number, token } of api.kept()) api.devices.accept(number, token.token, NOW_MS);
    api.instance = { ...INSTANCE, limits: { ...NO_LIMITS, publishesPerSecond: 1, devices: 1 } };
    const ask = (id: string, headers: Record<string, string>, body: unknown) =>
      api.ask('POST', publishes('/interests', id), { headers, body });

    expect(await ask(UNKNOWN, {}, '[')).toMatchObject({ error: 'Invalid content type' });
    expect(await ask(UNKNOWN, JSON_HEADERS, '[')).toMatchObject({ error: 'Incomplete Request' });
    const wrong = { ...JSON_HEADERS, authorization: 'Bearer wrong' };
    expect(await ask(UNKNOWN, wrong, '[')).toMatchObject({ error: 'Instance not found' });
    expect(await ask(INSTANCE.id, wrong, '[')).toMatchObject({ error: 'Unauthorized' });
    expect(await ask(INSTANCE.id, BACKEND_JSON, '[')).toMatchObject({ error: 'Bad request' });
    expect(await ask(INSTANCE.id, BACKEND_JSON, {})).toMatchObject({ status: 422 });
    // None of those counted towards the rate.
    expect(await ask(INSTANCE.id, BACKEND_JSON, TO_INTERESTS)).toEqual({
      status: 402,
      error: 'Payment Required',
      description: 'The instance has 2 devices that a gateway has accepted, and its limit is 1',
    });
    expect(await ask(INSTANCE.id, BACKEND_JSON, TO_INTERESTS)).toMatchObject({ status: 429 });
  });
});

describe('the rate of publishes', () => {
  it("has a burst of one second's worth, for interests and users together", async () => {
    const api = limited({ publishesPerSecond: 3 });
    const toUsers = () =>
      api.ask('POST', publishes('/users'), { headers: BACKEND_JSON, body: TO_USERS });

    const heard = [await publish(api), await toUsers(), await publish(api)];
    expect(heard.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const refused of [await publish(api), await toUsers()]) {
      expect(refused).toEqual({
        status: 429,
        error: 'Rate Limited',
        description: 'Too many requests in quick succession: at most 3 per second',
        retryAfter: 1,
      });
    }
    api.nowMs += 334;
    expect(await publish(api)).toMatchObject({ status: 200 });
    expect(await publish(api)).toMatchObject({ status: 429 });
    expect(api.publishes).toHaveLength(4);
  });

  it('has no limit if it is 0', async () => {
    const api = new PushApi();
    for (let index = 0; index < 300; index++) {
      expect((await publish(api)).status).toBe(200);
    }
  });

  it('is not reset by a change of the instance', async () => {
    const api = limited({ publishesPerSecond: 1 });
    expect(await publish(api)).toMatchObject({ status: 200 });
    const limits = { ...NO_LIMITS, publishesPerSecond: 1 };
    api.instance = { ...INSTANCE, name: 'renamed', limits };
    expect(await publish(api)).toMatchObject({ status: 429 });
  });
});

describe('an idempotency key', () => {
  const key = { 'idempotency-key': 'order-7' };

  it('returns the id of the first publish for a repeated one', async () => {
    const api = new PushApi();
    const [first, second] = [await publish(api, key), await publish(api, key)];
    expect(second).toEqual(first);
    expect(api.publishes).toHaveLength(1);
    expect(api.publishes[0]?.idempotency).toEqual({
      key: 'order-7',
      fingerprint: expect.any(String),
      expiresAtMs: NOW_MS + 86_400_000,
    });
  });

  it('is refused for another publish, also for the same body of the other kind', async () => {
    const api = new PushApi();
    const both = { ...TO_INTERESTS, ...TO_USERS };
    expect(await publish(api, key, both)).toMatchObject({ status: 200 });
    const others = [
      await publish(api, key),
      await api.ask('POST', publishes('/users'), {
        headers: { ...BACKEND_JSON, ...key },
        body: both,
      }),
    ];
    for (const refused of others) {
      expect(refused).toEqual({
        status: 422,
        error: 'Unprocessable Entity',
        description: expect.stringContaining('`Idempotency-Key`: '),
      });
    }
  });
});
