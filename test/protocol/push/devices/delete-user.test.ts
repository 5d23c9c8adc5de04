import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  BACKEND,
  beamsToken,
  expectEmpty,
  INSTANCE,
  JSON_HEADERS,
  NEIGHBOUR,
  NO_INSTANCE,
  NO_PATH,
  publish,
  refusal,
  registered,
  registeredOf,
  setUser,
  shownDevice,
  startPush,
  TO_USERS,
  UNKNOWN,
  user,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const remove = (rest: string, library?: string) =>
  ask(server, 'DELETE', user(rest), {
    headers: { ...BACKEND, ...(library === undefined ? {} : { 'x-pusher-library': library }) },
  });

describe('deleting a user', () => {
  it.each(['customer_api', 'user_api'])(
    'is answered with 200 and an empty body, whether the user exists or not: %s',
    async (family) => {
      const path = `/${family}/v1/instances/${INSTANCE.id}/users/`;
      const ann = `ann-${randomUUID()}`;
      const device = await registeredOf(server, ann);
      for (const _ of [1, 2]) {
        await expectEmpty(ask(server, 'DELETE', path + ann, { headers: BACKEND }));
      }
      expect(await shownDevice(server, device)).toBeUndefined();
    },
  );

  it('removes all devices of that user, and no other', async () => {
    const [ann, bob] = [randomUUID(), randomUUID()];
    const ofAnn = [await registeredOf(server, ann), await registeredOf(server, ann)];
    const others = [await registeredOf(server, bob), await registered(server)];
    await expectEmpty(remove(ann));
    for (const id of ofAnn) expect(await shownDevice(server, id)).toBeUndefined();
    for (const id of others) expect(await shownDevice(server, id)).toBeDefined();
  });

  it('leaves users of other instances alone', async () => {
    const ann = randomUUID();
    const device = await registeredOf(server, ann);
    const headers = { authorization: `Bearer ${NEIGHBOUR.secretKey}` };
    await expectEmpty(ask(server, 'DELETE', user(ann, NEIGHBOUR.id), { headers }));
    expect(await shownDevice(server, device)).toBeDefined();
  });

  it('lets the user come back', async () => {
    const ann = randomUUID();
    await registeredOf(server, ann);
    await expectEmpty(remove(ann));
    const again = await registered(server);
    await expectEmpty(setUser(server, again, beamsToken({ sub: ann })));
    expect(await shownDevice(server, again)).toMatchObject({ userId: ann });
    expect((await publish(server, '/users', { ...TO_USERS, users: [ann] })).status).toBe(200);
  });

  it('may have a content type and a body, which are ignored', async () => {
    for (const asked of [
      { headers: { ...BACKEND, ...JSON_HEADERS } },
      { headers: { ...BACKEND, 'content-type': 'text/plain' } },
      { headers: { ...BACKEND, ...JSON_HEADERS }, body: '{"x":' },
    ]) {
      await expectEmpty(ask(server, 'DELETE', user('nobody'), asked));
    }
  });
});

/** How each library encodes a user's id in a path. Source: push protocol, §2.4. */
describe('the user of a path', () => {
  const queryEncoded = (id: string) => new URLSearchParams([['', id]]).toString().slice(1);
  const raw = (id: string) => id;
  const libraries: readonly [name: string, encode: (id: string) => string][] = [
    ['node', encodeURIComponent],
    ['ruby', queryEncoded],
    ['php', queryEncoded],
    ['java', queryEncoded],
    ['go', (id) => encodeURIComponent(id).replaceAll('%2B', '+').replaceAll('%40', '@')],
    ['python', (id) => encodeURIComponent(id).replaceAll('%2F', '/')],
  ];
  const ids = [
    'ann',
    'ann smith',
    'a+b@example.org',
    'a/b//c/',
    '100%',
    'é😀',
    'a%20b',
    '..',
    '?#',
  ];
  it.each(libraries.flatMap(([name, encode]) => ids.map((id) => [id, name, encode] as const)))(
    'is %j, as the library for %s encodes it',
    async (id, name, encode) => {
      // The rest of the id is unique, so that no two tests use the same user.
      const unique = `${id}-${randomUUID()}`;
      const device = await registeredOf(server, unique);
      await expectEmpty(remove(encode(unique), `pusher-push-notifications-${name} 2.0.0`));
      expect(await shownDevice(server, device)).toBeUndefined();
    },
  );

  it.each(['ann', 'a+b@example.org', 'a/b//c/', "!$&'()*,;=:@-._~", '100%', '%', '%zz', '..', '.'])(
    'is %j, as the library for Swift writes it: not encoded',
    async (id) => {
      const device = await registeredOf(server, id);
      await expectEmpty(remove(raw(id), 'pusher-push-notifications-server-swift 1.0.2'));
      expect(await shownDevice(server, device)).toBeUndefined();
    },
  );

  it('is decoded once', async () => {
    const [once, twice] = [await registeredOf(server, 'd%20e'), await registeredOf(server, 'd e')];
    await expectEmpty(remove('d%2520e'));
    expect(await shownDevice(server, once)).toBeUndefined();
    expect(await shownDevice(server, twice)).toBeDefined();
  });

  it('may be a slash', async () => {
    const device = await registeredOf(server, '/');
    await expectEmpty(remove('/'));
    expect(await shownDevice(server, device)).toBeUndefined();
  });

  it('ends where the query begins', async () => {
    const [with_, without] = [await registeredOf(server, 'q?a=b'), await registeredOf(server, 'q')];
    await expectEmpty(remove('q?a=b'));
    expect(await shownDevice(server, with_)).toBeDefined();
    expect(await shownDevice(server, without)).toBeUndefined();
  });

  it('is compared by case and by code points', async () => {
    const devices = [
      await registeredOf(server, 'Zoë'),
      await registeredOf(server, 'zoë'),
      await registeredOf(server, 'Zoe\u0308'),
    ];
    await expectEmpty(remove(encodeURIComponent('Zoë')));
    const left = await Promise.all(devices.map((id) => shownDevice(server, id)));
    expect(left.map((device) => device !== undefined)).toEqual([false, true, true]);
  });

  it('is not a pattern', async () => {
    const device = await registeredOf(server, 'pattern');
    for (const rest of ['%25', 'patter_', 'p%25', "'%20OR%20'1'='1", '*']) {
      await expectEmpty(remove(rest));
    }
    expect(await shownDevice(server, device)).toBeDefined();
  });
});

/** Push protocol, §2.4: a space for libraries that encode it so, whatever users there are. */
describe('a plus sign', () => {
  it.each(['ruby', 'php', 'java'])('is a space: %s', async (name) => {
    const [plus, space] = [`${name}+x`, `${name} x`];
    const devices = [await registeredOf(server, plus), await registeredOf(server, space)];
    const left = async () =>
      (await Promise.all(devices.map((id) => shownDevice(server, id)))).map((one) => one?.userId);
    const library = `pusher-push-notifications-${name} 2.0.3`;
    for (const _ of [1, 2]) await expectEmpty(remove(`${name}+x`, library));
    expect(await left()).toEqual([plus, undefined]);
  });

  it.each(['node', 'go', 'python', undefined])(
    'keeps a plus sign for other libraries: %s',
    async (name) => {
      const device = await registeredOf(server, `${name} y`);
      await expectEmpty(remove(`${name}+y`, name && `pusher-push-notifications-${name} 1.0`));
      expect(await shownDevice(server, device)).toBeDefined();
    },
  );

  it('with an escaped plus sign is the same for all libraries', async () => {
    const [plus, space] = [await registeredOf(server, 'z+z'), await registeredOf(server, 'z z')];
    const library = 'pusher-push-notifications-php 2.0.0';
    for (const _ of [1, 2]) await expectEmpty(remove('z%2Bz', library));
    expect(await shownDevice(server, plus)).toBeUndefined();
    expect(await shownDevice(server, space)).toBeDefined();
  });
});

describe('deleting a user is refused', () => {
  it.each(['customer_api', 'user_api'])(
    'for each rule of the specification: %s',
    async (family) => {
      const request = (
        path: string,
        headers: Readonly<Record<string, string>> = BACKEND,
        instance: string = INSTANCE.id,
      ) => ask(server, 'DELETE', `/${family}/v1/instances/${instance}/users/${path}`, { headers });
      const incomplete = refusal(400, 'Incomplete Request');
      const wrongKey = refusal(401, 'Unauthorized', 'Incorrect Secret Key');
      expect(await request('ann', {})).toMatchObject(incomplete);
      expect(await request('ann', BACKEND, '')).toMatchObject(incomplete);
      expect(
        await ask(server, 'DELETE', `/${family}/v1/users/ann`, { headers: BACKEND }),
      ).toMatchObject(incomplete);
      for (const authorization of ['Bearer x', 'x', `Bearer ${NEIGHBOUR.secretKey}`]) {
        expect(await request('ann', { authorization })).toMatchObject(wrongKey);
      }
      for (const instance of [UNKNOWN, 'x']) {
        expect(await request('ann', BACKEND, instance)).toMatchObject(NO_INSTANCE);
      }
      expect(await request('')).toMatchObject(NO_PATH);
    },
  );

  it('with more than 164 bytes, with the recorded text', async () => {
    const tooLong = refusal(400, 'Bad request', "'User id' is too long, max length is 164");
    for (const longest of ['x'.repeat(164), '%C3%A9'.repeat(82), 'x/'.repeat(82)]) {
      await expectEmpty(remove(longest));
    }
    for (const rest of ['x'.repeat(165), `${'%C3%A9'.repeat(82)}x`, '%C3%A9'.repeat(83)]) {
      expect(await remove(rest)).toMatchObject(tooLong);
    }
  });

  it.each(['%00', 'a%00b'])('for an impossible user id: %s', async (rest) => {
    expect(await remove(rest)).toMatchObject(refusal(400, 'Bad request', /'User id'/));
  });

  it('by other methods', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'HEAD', 'OPTIONS']) {
      const answer = await ask(server, method, user('ann'), { headers: BACKEND });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'DELETE']);
    }
  });
});
