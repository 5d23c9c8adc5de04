import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  device,
  expectEmpty,
  JSON_HEADERS,
  NEIGHBOUR,
  NO_DEVICE,
  NO_INSTANCE,
  NO_PATH,
  notOfInterests,
  ofInterests,
  refusal,
  registered,
  startPush,
  UNKNOWN,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const BAD_NAME = refusal(400, 'Invalid interest name');
const TOO_MANY = refusal(400, 'Interest set too large');

const path = (id: string, rest = '') => device(`${id.split('-', 1)}/${id}/interests${rest}`);
const set = (id: string, interests: unknown) =>
  ask(server, 'PUT', path(id), { headers: JSON_HEADERS, body: { interests } });
const add = (id: string, name: string) => ask(server, 'POST', path(id, `/${name}`));
const remove = (id: string, name: string) => ask(server, 'DELETE', path(id, `/${name}`));

interface Page {
  readonly interests: readonly string[];
  readonly responseMetadata: { readonly nextCursor?: string };
}

async function page(id: string, query = ''): Promise<Page> {
  const { status, json } = await ask(server, 'GET', path(id, query));
  expect(status).toBe(200);
  return json as Page;
}

/** All interests of a device, page by page. */
async function all(id: string, limit = ''): Promise<string[]> {
  const interests: string[] = [];
  let cursor: string | undefined = '';
  do {
    const read: Page = await page(id, `?cursor=${encodeURIComponent(cursor)}${limit}`);
    interests.push(...read.interests);
    cursor = read.responseMetadata.nextCursor;
  } while (cursor !== undefined);
  return interests;
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => `i${String(index).padStart(5, '0')}`);

describe('one interest', () => {
  it.each(['apns', 'fcm', 'web'] as const)(
    'is added and removed with 200: %s',
    async (platform) => {
      const id = await registered(server, platform);
      expect(await all(id)).toEqual([]);
      for (const _ of [1, 2]) await expectEmpty(add(id, 'shop'));
      await expectEmpty(add(id, 'news'));
      expect(await all(id)).toEqual(['news', 'shop']);
      for (const _ of [1, 2]) await expectEmpty(remove(id, 'shop'));
      expect(await all(id)).toEqual(['news']);
    },
  );

  it('may have each character that the specification names, escaped or not', async () => {
    const id = await registered(server);
    await Promise.all(
      ofInterests.flatMap((character) => [
        expectEmpty(add(id, `a${encodeURIComponent(character)}`)),
        expectEmpty(add(id, `b${character}`)),
        expectEmpty(add(id, `c%${character.charCodeAt(0).toString(16)}`)),
      ]),
    );
    const expected = ['a', 'b', 'c'].flatMap((start) => ofInterests.map((one) => start + one));
    expect((await all(id)).sort()).toEqual(expected.sort());
    await Promise.all(
      ofInterests.flatMap((character) => [
        expectEmpty(remove(id, `a%${character.charCodeAt(0).toString(16).toUpperCase()}`)),
        expectEmpty(remove(id, `b${encodeURIComponent(character)}`)),
        expectEmpty(remove(id, `c${character}`)),
      ]),
    );
    expect(await all(id)).toEqual([]);
  });

  it('may have no other', async () => {
    const id = await registered(server);
    for (const character of [...notOfInterests, 'é', 'Ａ', '😀']) {
      const name = `a${encodeURIComponent(character)}`;
      expect(await add(id, name)).toMatchObject(BAD_NAME);
      expect(await remove(id, name)).toMatchObject(BAD_NAME);
    }
    expect(await all(id)).toEqual([]);
  });

  it('has 164 characters at most', async () => {
    const id = await registered(server);
    await expectEmpty(add(id, 'x'.repeat(164)));
    await expectEmpty(add(id, '%40'.repeat(164)));
    for (const name of ['x'.repeat(165), '%40'.repeat(165)]) {
      expect(await add(id, name)).toMatchObject(BAD_NAME);
      expect(await remove(id, name)).toMatchObject(BAD_NAME);
    }
    expect(await all(id)).toEqual(['@'.repeat(164), 'x'.repeat(164)]);
  });

  it('is decoded once', async () => {
    const id = await registered(server);
    expect(await add(id, 'a%2540b')).toMatchObject(BAD_NAME);
    expect(await add(id, 'a%2Fb')).toMatchObject(BAD_NAME);
    for (const name of ['%', '%zz', '%4', '%c3', '%ff']) {
      expect(await add(id, name)).toMatchObject(BAD_NAME);
    }
    await expectEmpty(add(id, 'a+b'.replace('+', '%2C')));
    expect(await add(id, 'a+b')).toMatchObject(BAD_NAME);
    expect(await all(id)).toEqual(['a,b']);
  });

  it('is compared by case, and may be a path segment or a property of every object', async () => {
    const id = await registered(server);
    const names = ['..', '.', 'Shop', '__proto__', 'constructor', 'interests', 'shop'];
    for (const name of names) await expectEmpty(add(id, name));
    expect((await all(id)).sort()).toEqual([...names].sort());
  });

  it('has a name', async () => {
    const id = await registered(server);
    expect(await add(id, '')).toMatchObject(NO_PATH);
    expect(await add(id, 'a/b')).toMatchObject(NO_PATH);
    expect(await add(id, 'a/')).toMatchObject(NO_PATH);
  });

  it('may have a body and a query, which are ignored', async () => {
    const id = await registered(server);
    await expectEmpty(ask(server, 'POST', path(id, '/shop?x=y'), { body: '[' }));
    expect(await all(id)).toEqual(['shop']);
  });
});

describe('all interests', () => {
  it('are replaced with 200', async () => {
    const id = await registered(server);
    for (const interests of [['a', 'b'], ['b', 'c', 'c'], [], ['d']]) {
      await expectEmpty(set(id, interests));
      expect(await all(id)).toEqual([...new Set(interests)]);
    }
  });

  it.each<[unknown]>([[undefined], [null], ['shop'], [7], [{}], [[7]], [[null]], [['a', ['b']]]])(
    'are an array of strings, not %j',
    async (interests) => {
      const id = await registered(server);
      await expectEmpty(set(id, ['before']));
      expect(await set(id, interests)).toMatchObject(refusal(400, 'Bad Request', /interests/));
      expect(await all(id)).toEqual(['before']);
    },
  );

  it.each(['', 'a b', 'a:b', 'é', 'x'.repeat(165), '\u0000', '\ud800', 'a\n'])(
    'have valid names, not %j',
    async (name) => {
      const id = await registered(server);
      await expectEmpty(set(id, ['before']));
      expect(await set(id, ['a', name])).toMatchObject(BAD_NAME);
      expect(await all(id)).toEqual(['before']);
    },
  );

  it('may have each character that the specification names', async () => {
    const id = await registered(server);
    await expectEmpty(set(id, [...ofInterests, 'x'.repeat(164)]));
    expect(await all(id)).toHaveLength(70);
  });

  it.each(['', 'null', '[]', '"x"', '{', '["a"]'])(
    'come in a JSON object, not %j',
    async (body) => {
      const id = await registered(server);
      expect(await ask(server, 'PUT', path(id), { body })).toMatchObject(
        refusal(400, 'Bad Request'),
      );
    },
  );

  it('are at most 5000, with names of any length', async () => {
    const id = await registered(server);
    const most = numbered(5000).map((name) => name.padEnd(164, '@'));
    await expectEmpty(set(id, most));
    expect(await set(id, [...most, 'more'])).toMatchObject(TOO_MANY);
    expect(await add(id, 'more')).toMatchObject(TOO_MANY);
    // What is there may be added again, as apps do at each start; and doubles are one.
    await expectEmpty(add(id, most[4999] ?? ''));
    await expectEmpty(set(id, [...most, 'i00000'.padEnd(164, '@')]));
    await expectEmpty(remove(id, most[0] ?? ''));
    await expectEmpty(add(id, 'more'));
    expect(await add(id, 'still-more')).toMatchObject(TOO_MANY);
    expect(await all(id)).toEqual([...most.slice(1), 'more']);
    await expectEmpty(set(id, []));
    expect(await all(id)).toEqual([]);
  });

  it('are at most 5000 even if the last ones come at the same moment', async () => {
    const id = await registered(server);
    await expectEmpty(set(id, numbered(4998)));
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => add(id, `last-${index}`)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, ...Array(8).fill(400)]);
    expect(await all(id)).toHaveLength(5000);
  });
});

describe('reading interests', () => {
  it('returns an object of the same shape without interests', async () => {
    const id = await registered(server);
    const empty = await ask(server, 'GET', path(id));
    expect(empty.text).toBe('{"interests":[],"responseMetadata":{}}\n');
    expect(empty.headers.get('content-type')).toBe('application/json');
    await expectEmpty(set(id, ['b', 'a']));
    expect(await page(id)).toEqual({ interests: ['a', 'b'], responseMetadata: {} });
  });

  it('returns pages of 100 by default, and no cursor with the last page', async () => {
    const id = await registered(server);
    const names = numbered(250);
    await expectEmpty(set(id, names));
    const first = await page(id);
    expect(first.interests).toEqual(names.slice(0, 100));
    expect(first.responseMetadata.nextCursor).toBeString();
    expect(await all(id)).toEqual(names);
    expect(await all(id, '&limit=7')).toEqual(names);
    await expectEmpty(set(id, names.slice(0, 100)));
    expect((await page(id)).responseMetadata).toEqual({});
    await expectEmpty(set(id, names.slice(0, 101)));
    const { interests, responseMetadata } = await page(id);
    expect(interests).toHaveLength(100);
    const last = await page(id, `?cursor=${responseMetadata.nextCursor}`);
    expect(last).toEqual({ interests: ['i00100'], responseMetadata: {} });
  });

  it.each([
    ['1', 1],
    ['99', 99],
    ['100', 100],
    ['0100', 100],
    ['101', 100],
    ['5000', 100],
    ['9'.repeat(40), 100],
  ])('returns as many as requested, but at most 100: %s', async (limit, most) => {
    const id = await registered(server);
    await expectEmpty(set(id, numbered(150)));
    expect((await page(id, `?limit=${limit}`)).interests).toHaveLength(most);
  });

  it.each([
    '',
    '0',
    '00',
    '-1',
    '+1',
    '%2B1',
    '1.0',
    '1e1',
    '0x10',
    'all',
    '%20',
    '1%20',
    '%D9%A3',
    '1,2',
  ])('refuses the limit %s', async (limit) => {
    const id = await registered(server);
    expect(await ask(server, 'GET', path(id, `?limit=${limit}`))).toMatchObject(
      refusal(400, 'Bad Request', '`limit` given is not valid'),
    );
  });

  it.each(['x', '%00', '=', 'aTAwMDAw%3D', '__proto__', '%C3%A9', 'x'.repeat(300), "'%20OR%201=1"])(
    'refuses a cursor that it did not return: %s',
    async (cursor) => {
      const id = await registered(server);
      expect(await ask(server, 'GET', path(id, `?cursor=${cursor}`))).toMatchObject(
        refusal(400, 'Bad Request', /cursor/),
      );
    },
  );

  it('continues in place when interests change between two pages', async () => {
    const id = await registered(server);
    const names = numbered(10);
    await expectEmpty(set(id, names));
    const { responseMetadata } = await page(id, '?limit=5');
    await expectEmpty(remove(id, 'i00004'));
    await expectEmpty(remove(id, 'i00006'));
    await expectEmpty(add(id, 'i00000x'));
    await expectEmpty(add(id, 'i00005x'));
    const rest = await page(id, `?limit=100&cursor=${responseMetadata.nextCursor}`);
    expect(rest.interests).toEqual(['i00005', 'i00005x', 'i00007', 'i00008', 'i00009']);
  });

  it('has the order of bytes for all characters', async () => {
    const id = await registered(server);
    await expectEmpty(set(id, ofInterests));
    const inOrder = [...ofInterests].sort();
    expect(await all(id)).toEqual(inOrder);
    expect(await all(id, '&limit=1')).toEqual(inOrder);
  });

  it('ignores other parameters', async () => {
    const id = await registered(server);
    await expectEmpty(set(id, ['a']));
    expect((await page(id, '?x=y&limit=5&z')).interests).toEqual(['a']);
  });
});

describe('an unknown device', () => {
  it.each([`fcm-${UNKNOWN}`, `web-${UNKNOWN}`, 'fcm-1', '%00', 'null'])(
    'has no interests: 404 for %s',
    async (id) => {
      const at = (rest = '') => device(`fcm/${id}/interests${rest}`);
      for (const answer of [
        await ask(server, 'GET', at()),
        await ask(server, 'PUT', at(), { body: { interests: ['a'] } }),
        await ask(server, 'POST', at('/a')),
        await ask(server, 'DELETE', at('/a')),
      ]) {
        expect(answer).toMatchObject(NO_DEVICE);
      }
    },
  );

  it('may be deleted, or of another instance or platform', async () => {
    const gone = await registered(server);
    await expectEmpty(add(gone, 'shop'));
    await expectEmpty(ask(server, 'DELETE', device(`fcm/${gone}`)));
    expect(await ask(server, 'GET', path(gone))).toMatchObject(NO_DEVICE);
    const id = await registered(server);
    for (const target of [
      device(`fcm/${id}/interests/a`, NEIGHBOUR.id),
      device(`web/${id}/interests/a`),
    ]) {
      expect(await ask(server, 'POST', target)).toMatchObject(NO_DEVICE);
    }
    for (const instance of [UNKNOWN, 'x']) {
      const target = device(`fcm/${id}/interests/a`, instance);
      expect(await ask(server, 'POST', target)).toMatchObject(NO_INSTANCE);
    }
    expect(await all(id)).toEqual([]);
  });
});
