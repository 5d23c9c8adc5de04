import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  BACKEND,
  BACKEND_JSON,
  fieldRefusal,
  INSTANCE,
  NEIGHBOUR,
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
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const fcm = TO_INTERESTS.fcm;
const toInterests = (interests: unknown) => publish(server, '/interests', { interests, fcm });
const toUsers = (users: unknown) => publish(server, '/users', { users, fcm });

describe('a publish to interests', () => {
  it('is also accepted at the old path, without /interests', async () => {
    const answer = await publish(server, '', TO_INTERESTS);
    expect(answer).toMatchObject({
      status: 200,
      json: { publishId: expect.stringMatching(PUBLISH_ID) },
    });
    expect(await publish(server, '', JSON.stringify(TO_INTERESTS).padEnd(10_241))).toMatchObject(
      refusal(400, 'Bad request', /10 KiB/),
    );
    const target = '/publish_api/v1/instances//publishes';
    const asked = { headers: BACKEND_JSON, body: TO_INTERESTS };
    expect(await ask(server, 'POST', target, asked)).toMatchObject(
      refusal(400, 'Incomplete Request', /instance-id/),
    );
  });

  it('gets an id of its own each time', async () => {
    const ids = new Set<string>();
    for (let index = 0; index < 20; index++) {
      ids.add((await publish(server, '/interests', TO_INTERESTS)).text);
    }
    expect(ids.size).toBe(20);
  });

  it('may have a query, which is ignored', async () => {
    const target = `${publishes('/interests')}?interests=x&a=%zz`;
    const answer = await ask(server, 'POST', target, { headers: BACKEND_JSON, body: TO_INTERESTS });
    expect(answer.status).toBe(200);
  });

  it('may name the library that sends it', async () => {
    const library = 'pusher-push-notifications-node 1.2.7';
    const headers = { accept: 'application/json', 'x-pusher-library': library };
    expect((await publish(server, '/interests', TO_INTERESTS, headers)).status).toBe(200);
  });

  it('finds its instance by the path and not by the host', async () => {
    for (const host of [`${INSTANCE.id}.push.test`, `${NEIGHBOUR.id}.push.test`, 'push.test']) {
      await using connection = await open(server);
      const body = JSON.stringify(TO_INTERESTS);
      connection.write(
        `POST ${publishes('/interests')} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${BACKEND.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      expect(seen(await connection.read()).status).toBe(200);
    }
  });

  it('finds its instance by any spelling of the id', async () => {
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

describe('interests', () => {
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
});

describe('a publish to users', () => {
  it('ignores interests beside users', async () => {
    expect((await publish(server, '/users', { ...TO_USERS, interests: [':'] })).status).toBe(200);
    expect((await publish(server, '/interests', { ...TO_INTERESTS, users: [''] })).status).toBe(
      200,
    );
  });
});

describe('users', () => {
  it('may all have the maximum length', async () => {
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
  ])('have at most 164 bytes of UTF-8: %s', async (character, bytes) => {
    const most = character.repeat(Math.floor(164 / bytes)) + 'x'.repeat(164 % bytes);
    expect(Buffer.byteLength(most)).toBe(164);
    expect((await toUsers([most])).status).toBe(200);
    for (const tooLong of [`${most}x`, character.repeat(164 / bytes + 1)]) {
      expect(await toUsers(['ann', tooLong])).toMatchObject(fieldRefusal('users.1'));
    }
  });

  it('are measured in bytes after JSON is decoded', async () => {
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
    'are valid Unicode without NUL, not %j',
    async (user) => {
      expect(await toUsers(['ann', user])).toMatchObject(fieldRefusal('users.1'));
    },
  );
});
