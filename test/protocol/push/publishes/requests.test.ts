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

/** What differs between publishes to interests and to users. Source: push protocol, §2. */
const TARGETS = [
  { field: 'interests', example: TO_INTERESTS, other: TO_USERS, namesMax: 100, kibibytes: 10 },
  { field: 'users', example: TO_USERS, other: TO_INTERESTS, namesMax: 1000, kibibytes: 200 },
] as const;

describe.each(TARGETS)('a publish to $field:', ({ field, example, other, namesMax, kibibytes }) => {
  const path = `/${field}` as const;
  const bytesMax = kibibytes * 1024;
  const TOO_LARGE = refusal(400, 'Bad request', new RegExp(`${kibibytes} KiB`));

  /** A publish of this many bytes. */
  function ofBytes(bytes: number): string {
    const text = JSON.stringify(example);
    return text + ' '.repeat(bytes - text.length);
  }

  it('the answer is 200 with its id', async () => {
    const answer = await publish(server, path, example);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.json).toEqual({ publishId: expect.stringMatching(PUBLISH_ID) });
    expect(answer.text).toEndWith('}\n');
  });

  describe('the content type', () => {
    const withType = (type: string) => publish(server, path, example, { 'content-type': type });

    it.each([
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'Application/JSON',
    ])('may be %s', async (type) => {
      expect((await withType(type)).status).toBe(200);
    });

    it.each([
      '',
      'text/plain',
      'text/json',
      'application/jsonp',
      'application/json5',
      'application/vnd.api+json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=application/json',
      'application/json, text/plain',
      'json',
      '*/*',
    ])('is not %j', async (type) => {
      expect(await withType(type)).toMatchObject(refusal(400, 'Invalid content type'));
    });

    it('is not enough for a compressed body', async () => {
      const headers = { ...BACKEND_JSON, 'content-encoding': 'gzip' };
      const body = Bun.gzipSync(JSON.stringify(example));
      const answer = await ask(server, 'POST', publishes(path), { headers, body });
      expect(answer).toMatchObject(refusal(400, 'Invalid content type'));
      expect(answer.json).toMatchObject({
        description:
          'The body has Content-Encoding: gzip, which this server does not decode; send it uncompressed',
      });
    });

    it('is the first one if it is there twice', async () => {
      const [json, text] = ['application/json', 'text/plain'];
      const first = { 'Content-Type': json, 'content-type': text };
      const second = { 'Content-Type': text, 'content-type': json };
      const send = (types: Readonly<Record<string, string>>) => {
        const asked = { headers: { ...BACKEND, ...types }, body: example };
        return ask(server, 'POST', publishes(path), asked);
      };
      expect((await send(first)).status).toBe(200);
      expect(await send(second)).toMatchObject(refusal(400, 'Invalid content type'));
    });

    it('must be there', async () => {
      const asked = { headers: BACKEND, body: example };
      expect(await ask(server, 'POST', publishes(path), asked)).toMatchObject(
        refusal(400, 'Invalid content type'),
      );
    });
  });

  describe('a path without an instance id', () => {
    it.each([
      `/publish_api/v1/instances//publishes${path}`,
      `/publish_api/v1/instances/publishes${path}`,
      `/publish_api/v1/publishes${path}`,
    ])('is refused with 400: %s', async (target) => {
      const asked = { headers: BACKEND_JSON, body: example };
      expect(await ask(server, 'POST', target, asked)).toMatchObject(
        refusal(400, 'Incomplete Request', /instance-id/),
      );
    });
  });

  describe('an instance that cannot be found', () => {
    it.each([
      UNKNOWN,
      'not-a-uuid',
      '%00',
      '..',
      '%2e%2e',
      `${INSTANCE.id}x`,
      `${INSTANCE.id}%20`,
      `x%2F${INSTANCE.id}`,
      `{${INSTANCE.id}}`,
      INSTANCE.id.replaceAll('-', ''),
      '__proto__',
      'constructor',
      '%zz',
      '%ff',
    ])('is answered with 404: %s', async (id) => {
      const asked = { headers: BACKEND_JSON, body: example };
      expect(await ask(server, 'POST', publishes(path, id), asked)).toMatchObject(NO_INSTANCE);
    });
  });

  describe('the Authorization header', () => {
    const withAuthorization = (authorization: string) =>
      publish(server, path, example, { authorization });

    it.each([
      `Bearer ${INSTANCE.secretKey}`,
      `Bearer ${INSTANCE.nextKey}`,
      `bearer ${INSTANCE.secretKey}`,
      `BEARER   ${INSTANCE.secretKey}`,
    ])('may be %s', async (authorization) => {
      expect((await withAuthorization(authorization)).status).toBe(200);
    });

    it.each([
      'Bearer wrong',
      'Bearer',
      'Bearer ',
      INSTANCE.secretKey,
      `Basic ${INSTANCE.secretKey}`,
      `Token ${INSTANCE.secretKey}`,
      `Bearer${INSTANCE.secretKey}`,
      `Bearer "${INSTANCE.secretKey}"`,
      `Bearer ${INSTANCE.secretKey}0`,
      `Bearer ${INSTANCE.secretKey.slice(1)}`,
      `Bearer ${INSTANCE.secretKey.toLowerCase()}`,
      `Bearer ${NEIGHBOUR.secretKey}`,
      `Bearer ${INSTANCE.secretKey}, Bearer ${INSTANCE.secretKey}`,
      `Bearer ${INSTANCE.secretKey} ${INSTANCE.secretKey}`,
      `Bearer ${INSTANCE.id}`,
      'Bearer undefined',
      'Bearer \u00ff\u00fe',
    ])('with a wrong key is refused with 401: %s', async (authorization) => {
      expect(await withAuthorization(authorization)).toMatchObject(
        refusal(401, 'Unauthorized', 'Incorrect Secret Key'),
      );
    });

    it('must be there: 400', async () => {
      for (const headers of [JSON_HEADERS, { ...JSON_HEADERS, authorization: '' }]) {
        const asked = { headers, body: example };
        expect(await ask(server, 'POST', publishes(path), asked)).toMatchObject(
          refusal(400, 'Incomplete Request', /Authorization/),
        );
      }
    });

    it('is read from no other place', async () => {
      const target = `${publishes(path)}?authorization=${INSTANCE.secretKey}`;
      const headers = { ...JSON_HEADERS, 'x-authorization': BACKEND.authorization };
      expect(await ask(server, 'POST', target, { headers, body: example })).toMatchObject(
        refusal(400, 'Incomplete Request'),
      );
    });

    it('is read once: a second one is ignored', async () => {
      const wrong = 'Bearer wrong';
      const [Authorization, authorization] = [BACKEND.authorization, wrong];
      const first = { ...JSON_HEADERS, Authorization, authorization };
      const second = { ...JSON_HEADERS, Authorization: wrong, authorization: Authorization };
      for (const [headers, status] of [
        [first, 200],
        [second, 401],
      ] as const) {
        const answer = await ask(server, 'POST', publishes(path), {
          headers,
          body: example,
        });
        expect(answer.status).toBe(status);
      }
    });
  });

  describe('the body', () => {
    it(`may have ${kibibytes} KiB, and no byte more`, async () => {
      expect((await publish(server, path, ofBytes(bytesMax))).status).toBe(200);
      expect(await publish(server, path, ofBytes(bytesMax + 1))).toMatchObject(TOO_LARGE);
    });

    it(`may have ${kibibytes} KiB in chunks, and no byte more`, async () => {
      const send = (chunks: readonly string[]) =>
        ask(server, 'POST', publishes(path), { headers: BACKEND_JSON, chunks });
      expect((await send([ofBytes(bytesMax)])).status).toBe(200);
      expect(await send([ofBytes(bytesMax), ' '])).toMatchObject(TOO_LARGE);
    });

    it.each([
      '',
      ' ',
      'null',
      'true',
      '7',
      '"interests"',
      '[]',
      '[{"interests":["a"]}]',
      '{',
      '{}}',
      '{"interests":["a"],}',
      "{'interests':['a']}",
      '{interests:["a"]}',
      '{"interests":["a"]}{"interests":["a"]}',
      '{"interests":["a"]} // why',
      '{"a":NaN}',
      '{"a":0x10}',
      '{"a":"\u0000"}',
      '{"a":"\n"}',
      'interests=a',
    ])('must be a JSON object: %j', async (body) => {
      expect(await publish(server, path, body)).toMatchObject(
        refusal(400, 'Bad request', 'The body cannot be read as a JSON object'),
      );
    });

    it.each([
      ['UTF-16', Buffer.from(JSON.stringify(example), 'utf16le')],
      [
        'Latin-1',
        Buffer.from('{"interests":["a"],"web":{"notification":{"title":"é"}}}', 'latin1'),
      ],
      ['half a character', Buffer.from([...Buffer.from('{"a":"'), 0xe2, 0x82, 0x22, 0x7d])],
      ['a surrogate', Buffer.from([...Buffer.from('{"a":"'), 0xed, 0xa0, 0x80, 0x22, 0x7d])],
      ['gzip', Bun.gzipSync(JSON.stringify(example))],
    ])('must be UTF-8, not %s', async (_, body) => {
      expect(await publish(server, path, body)).toMatchObject(refusal(400, 'Bad request'));
    });

    it('may begin with a byte order mark, and with blanks', async () => {
      for (const start of ['\ufeff', ' \t\r\n']) {
        const body = start + JSON.stringify(example);
        expect((await publish(server, path, body)).status).toBe(200);
      }
    });
  });

  describe(`\`${field}\``, () => {
    const toNames = (names: unknown) => publish(server, path, { ...example, [field]: names });
    const many = Array.from({ length: namesMax + 1 }, (_, index) => `name-${index}`);

    it('is required, with the text of the hosted service', async () => {
      const { fcm } = example;
      for (const body of [{ fcm }, { [field]: null, fcm }, { ...other }, {}]) {
        expect(await publish(server, path, body)).toMatchObject(
          refusal(422, 'Unprocessable Entity', `\`${field}\`: ${field} is required`),
        );
      }
    });

    it.each<unknown>(['name', 7, true, {}, { 0: 'name', length: 1 }])(
      'is an array, not %j',
      async (names) => {
        expect(await toNames(names)).toMatchObject(fieldRefusal(field));
      },
    );

    it(`has 1 to ${namesMax} names`, async () => {
      expect(await toNames([])).toMatchObject(fieldRefusal(field));
      expect((await toNames(many.slice(0, 1))).status).toBe(200);
      expect((await toNames(many.slice(0, namesMax))).status).toBe(200);
      expect(await toNames(many)).toMatchObject(fieldRefusal(field));
    });

    it('may have an interest twice, which counts twice, but no user', async () => {
      const status = field === 'users' ? 422 : 200;
      expect((await toNames(Array(namesMax).fill('name'))).status).toBe(status);
      expect(await toNames(Array(namesMax + 1).fill('name'))).toMatchObject(fieldRefusal(field));
    });

    it.each<[unknown]>([[null], [7], [true], [{}], [[]], [['name']]])(
      'has strings, not %j',
      async (entry) => {
        expect(await toNames(['name', entry])).toMatchObject(fieldRefusal(`${field}.1`));
      },
    );

    it('may have names that every object has as properties', async () => {
      expect((await toNames(['__proto__', 'constructor', 'toString', '.', '..'])).status).toBe(200);
    });
  });

  it('is checked in the order of the specification', async () => {
    const send = (id: string, headers: Readonly<Record<string, string>>, body: string) =>
      ask(server, 'POST', publishes(path, id), { headers, body });
    const large = `[${' '.repeat(bytesMax)}`;
    const wrong = { ...JSON_HEADERS, authorization: 'Bearer wrong' };
    expect(await send('', {}, large)).toMatchObject(refusal(400, 'Incomplete Request'));
    expect(await send(UNKNOWN, {}, large)).toMatchObject(refusal(400, 'Invalid content type'));
    expect(await send(UNKNOWN, JSON_HEADERS, large)).toMatchObject(
      refusal(400, 'Incomplete Request'),
    );
    expect(await send(UNKNOWN, wrong, large)).toMatchObject(NO_INSTANCE);
    expect(await send(INSTANCE.id, wrong, large)).toMatchObject(refusal(401, 'Unauthorized'));
    expect(await send(INSTANCE.id, BACKEND_JSON, large)).toMatchObject(TOO_LARGE);
    expect(await send(INSTANCE.id, BACKEND_JSON, '[')).toMatchObject(
      refusal(400, 'Bad request', /JSON object/),
    );
    expect(await send(INSTANCE.id, BACKEND_JSON, '{}')).toMatchObject(
      refusal(422, 'Unprocessable Entity'),
    );
  });
});
