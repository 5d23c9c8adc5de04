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
  notOfInterests,
  ofInterests,
  open,
  PUBLISH_ID,
  publish,
  publishes,
  refusal,
  seen,
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

const fcm = TO_INTERESTS.fcm;
const toInterests = (interests: unknown) => publish(server, '/interests', { interests, fcm });

/** A publish of so many bytes. */
function ofBytes(bytes: number): string {
  const body = JSON.stringify(TO_INTERESTS);
  return body + ' '.repeat(bytes - body.length);
}

describe('a publish to interests', () => {
  it.each(['/interests', ''] as const)(
    'is accepted with 200 and its id, by the path ending in /publishes%s',
    async (path) => {
      const answer = await publish(server, path, TO_INTERESTS);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.json).toEqual({ publishId: expect.stringMatching(PUBLISH_ID) });
      expect(answer.text).toEndWith('}\n');
    },
  );

  it('gets an id of its own each time', async () => {
    const ids = new Set<string>();
    for (let index = 0; index < 20; index++) {
      ids.add((await publish(server, '/interests', TO_INTERESTS)).text);
    }
    expect(ids.size).toBe(20);
  });

  it('may have a query, which says nothing', async () => {
    const target = `${publishes('/interests')}?interests=x&a=%zz`;
    const answer = await ask(server, 'POST', target, { headers: BACKEND_JSON, body: TO_INTERESTS });
    expect(answer.status).toBe(200);
  });

  it('tells of the library that sends it, or not', async () => {
    const library = 'pusher-push-notifications-node 1.2.7';
    const headers = { accept: 'application/json', 'x-pusher-library': library };
    expect((await publish(server, '/interests', TO_INTERESTS, headers)).status).toBe(200);
  });

  it('finds its instance by the path, whatever the host is called', async () => {
    for (const host of [`${INSTANCE.id}.push.test`, `${NEIGHBOUR.id}.push.test`, 'push.test']) {
      await using connection = await open(server);
      const body = JSON.stringify(TO_INTERESTS);
      connection.writes(
        `POST ${publishes('/interests')} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${BACKEND.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      expect(seen(await connection.reads()).status).toBe(200);
    }
  });

  it('finds its instance however the id is spelled', async () => {
    for (const id of [INSTANCE.id.toUpperCase(), INSTANCE.id.replaceAll('-', '%2D')]) {
      const target = publishes('/interests', id);
      const asked = { headers: BACKEND_JSON, body: TO_INTERESTS };
      expect((await ask(server, 'POST', target, asked)).status).toBe(200);
    }
  });

  it('may be sent in chunks', async () => {
    const text = JSON.stringify(TO_INTERESTS);
    const chunks = [text.slice(0, 5), text.slice(5)];
    const answer = await ask(server, 'POST', publishes('/interests'), {
      headers: BACKEND_JSON,
      chunks,
    });
    expect(answer.status).toBe(200);
  });
});

describe('the content type', () => {
  const withType = (type: string) =>
    publish(server, '/interests', TO_INTERESTS, { 'content-type': type });

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

  it('counts once: the first, where it is there twice', async () => {
    const [json, text] = ['application/json', 'text/plain'];
    const first = { 'Content-Type': json, 'content-type': text };
    const second = { 'Content-Type': text, 'content-type': json };
    const send = (types: Readonly<Record<string, string>>) => {
      const asked = { headers: { ...BACKEND, ...types }, body: TO_INTERESTS };
      return ask(server, 'POST', publishes('/interests'), asked);
    };
    expect((await send(first)).status).toBe(200);
    expect(await send(second)).toMatchObject(refusal(400, 'Invalid content type'));
  });

  it('must be there', async () => {
    const asked = { headers: BACKEND, body: TO_INTERESTS };
    expect(await ask(server, 'POST', publishes('/interests'), asked)).toMatchObject(
      refusal(400, 'Invalid content type'),
    );
  });
});

describe('a path without an instance id', () => {
  it.each([
    '/publish_api/v1/instances//publishes/interests',
    '/publish_api/v1/instances/publishes/interests',
    '/publish_api/v1/publishes/interests',
    '/publish_api/v1/instances//publishes',
  ])('is refused with 400: %s', async (target) => {
    const asked = { headers: BACKEND_JSON, body: TO_INTERESTS };
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
    const asked = { headers: BACKEND_JSON, body: TO_INTERESTS };
    expect(await ask(server, 'POST', publishes('/interests', id), asked)).toMatchObject(
      NO_INSTANCE,
    );
  });
});

describe('the Authorization header', () => {
  const withAuthorization = (authorization: string) =>
    publish(server, '/interests', TO_INTERESTS, { authorization });

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
      const asked = { headers, body: TO_INTERESTS };
      expect(await ask(server, 'POST', publishes('/interests'), asked)).toMatchObject(
        refusal(400, 'Incomplete Request', /Authorization/),
      );
    }
  });

  it('is nowhere else', async () => {
    const target = `${publishes('/interests')}?authorization=${INSTANCE.secretKey}`;
    const headers = { ...JSON_HEADERS, 'x-authorization': BACKEND.authorization };
    expect(await ask(server, 'POST', target, { headers, body: TO_INTERESTS })).toMatchObject(
      refusal(400, 'Incomplete Request'),
    );
  });

  it('is read once: a second one takes nothing back', async () => {
    const wrong = 'Bearer wrong';
    const [Authorization, authorization] = [BACKEND.authorization, wrong];
    const first = { ...JSON_HEADERS, Authorization, authorization };
    const second = { ...JSON_HEADERS, Authorization: wrong, authorization: Authorization };
    for (const [headers, status] of [
      [first, 200],
      [second, 401],
    ] as const) {
      const answer = await ask(server, 'POST', publishes('/interests'), {
        headers,
        body: TO_INTERESTS,
      });
      expect(answer.status).toBe(status);
    }
  });
});

describe('the body', () => {
  it('may have 10 KiB, and no byte more', async () => {
    expect((await publish(server, '/interests', ofBytes(10_240))).status).toBe(200);
    expect((await publish(server, '', ofBytes(10_240))).status).toBe(200);
    for (const path of ['/interests', ''] as const) {
      expect(await publish(server, path, ofBytes(10_241))).toMatchObject(
        refusal(400, 'Bad request', /10 KiB/),
      );
    }
  });

  it('may have 10 KiB in chunks, and no byte more', async () => {
    const send = (chunks: readonly string[]) =>
      ask(server, 'POST', publishes('/interests'), { headers: BACKEND_JSON, chunks });
    expect((await send([ofBytes(10_240)])).status).toBe(200);
    expect(await send([ofBytes(10_240), ' '])).toMatchObject(refusal(400, 'Bad request', /10 KiB/));
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
    expect(await publish(server, '/interests', body)).toMatchObject(
      refusal(400, 'Bad request', 'The body cannot be read as a JSON object'),
    );
  });

  it.each([
    ['UTF-16', Buffer.from(JSON.stringify(TO_INTERESTS), 'utf16le')],
    ['Latin-1', Buffer.from('{"interests":["a"],"web":{"notification":{"title":"é"}}}', 'latin1')],
    ['half a character', Buffer.from([...Buffer.from('{"a":"'), 0xe2, 0x82, 0x22, 0x7d])],
    ['a surrogate', Buffer.from([...Buffer.from('{"a":"'), 0xed, 0xa0, 0x80, 0x22, 0x7d])],
    ['gzip', Bun.gzipSync(JSON.stringify(TO_INTERESTS))],
  ])('must be UTF-8, not %s', async (_, body) => {
    expect(await publish(server, '/interests', body)).toMatchObject(refusal(400, 'Bad request'));
  });

  it('may begin with a byte order mark, and with blanks', async () => {
    for (const start of ['\ufeff', ' \t\r\n']) {
      const body = start + JSON.stringify(TO_INTERESTS);
      expect((await publish(server, '/interests', body)).status).toBe(200);
    }
  });
});

describe('interests', () => {
  it('are required, in the words of the hosted service', async () => {
    for (const body of [{ fcm }, { interests: null, fcm }, { ...TO_USERS }, {}]) {
      expect(await publish(server, '/interests', body)).toMatchObject(
        refusal(422, 'Unprocessable Entity', '`interests`: interests is required'),
      );
    }
  });

  it.each<unknown>(['shop', 7, true, {}, { 0: 'shop', length: 1 }])(
    'are an array, not %j',
    async (interests) => {
      expect(await toInterests(interests)).toMatchObject(fieldRefusal('interests'));
    },
  );

  it('are 1 to 100', async () => {
    const many = Array.from({ length: 101 }, (_, index) => `i${index}`);
    expect(await toInterests([])).toMatchObject(fieldRefusal('interests'));
    expect((await toInterests(many.slice(0, 1))).status).toBe(200);
    expect((await toInterests(many.slice(0, 100))).status).toBe(200);
    expect(await toInterests(many)).toMatchObject(fieldRefusal('interests'));
  });

  it('may be named twice, which counts twice', async () => {
    expect((await toInterests(Array(100).fill('shop'))).status).toBe(200);
    expect(await toInterests(Array(101).fill('shop'))).toMatchObject(fieldRefusal('interests'));
  });

  it('have 164 characters at most, and one at least', async () => {
    expect((await toInterests(['a'.repeat(164)])).status).toBe(200);
    expect(await toInterests(['a'.repeat(165)])).toMatchObject(fieldRefusal('interests.0'));
    expect(await toInterests(['a', ''])).toMatchObject(fieldRefusal('interests.1'));
  });

  it('may have each character that the specification names', async () => {
    expect(ofInterests).toHaveLength(69);
    for (const character of ofInterests) {
      expect([character, (await toInterests([character])).status]).toEqual([character, 200]);
    }
  });

  it('may have no other character of ASCII', async () => {
    expect(notOfInterests).toHaveLength(59);
    for (const character of notOfInterests) {
      for (const name of [character, `a${character}b`, `a${character}`]) {
        expect(await toInterests([name])).toMatchObject(fieldRefusal('interests.0'));
      }
    }
  });

  it.each(['é', 'ß', 'Ａ', '٣', '\u017f', '\u212a', '😀', 'e\u0301', '\u200b', '\ud800'])(
    'may have no character outside ASCII: %j',
    async (character) => {
      expect(await toInterests(['a', character])).toMatchObject(fieldRefusal('interests.1'));
    },
  );

  it.each<[unknown]>([[null], [7], [true], [{}], [[]], [['a']]])(
    'are strings, not %j',
    async (entry) => {
      expect(await toInterests(['a', entry])).toMatchObject(fieldRefusal('interests.1'));
    },
  );

  it('may be called as what objects have by themselves', async () => {
    expect((await toInterests(['__proto__', 'constructor', 'toString', '.', '..'])).status).toBe(
      200,
    );
  });
});

it('checks in the order of the specification', async () => {
  const send = (id: string, headers: Readonly<Record<string, string>>, body: string) =>
    ask(server, 'POST', publishes('/interests', id), { headers, body });
  const large = `[${' '.repeat(10_240)}`;
  const wrong = { ...JSON_HEADERS, authorization: 'Bearer wrong' };
  expect(await send('', {}, large)).toMatchObject(refusal(400, 'Incomplete Request'));
  expect(await send(UNKNOWN, {}, large)).toMatchObject(refusal(400, 'Invalid content type'));
  expect(await send(UNKNOWN, JSON_HEADERS, large)).toMatchObject(
    refusal(400, 'Incomplete Request'),
  );
  expect(await send(UNKNOWN, wrong, large)).toMatchObject(NO_INSTANCE);
  expect(await send(INSTANCE.id, wrong, large)).toMatchObject(refusal(401, 'Unauthorized'));
  expect(await send(INSTANCE.id, BACKEND_JSON, large)).toMatchObject(
    refusal(400, 'Bad request', /10 KiB/),
  );
  expect(await send(INSTANCE.id, BACKEND_JSON, '[')).toMatchObject(
    refusal(400, 'Bad request', /JSON object/),
  );
  expect(await send(INSTANCE.id, BACKEND_JSON, '{}')).toMatchObject(
    refusal(422, 'Unprocessable Entity'),
  );
});
