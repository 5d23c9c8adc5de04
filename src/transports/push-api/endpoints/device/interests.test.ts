import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { NO_LIMITS } from '../../../../../testing/push-limits.ts';
import { device, INSTANCE, PushApi } from '../endpoints.fixture.ts';

const names = (count: number) =>
  Array.from({ length: count }, (_, index) => `i${String(index).padStart(5, '0')}`);

async function withInterests(interests: readonly string[]) {
  const api = new PushApi();
  const id = await api.register();
  const path = device(`web/${id}/interests`);
  const set = (body: unknown) => api.ask('PUT', path, { body });
  expect(await set({ interests })).toEqual({ status: 200 });
  return { api, path, set, kept: () => api.kept().flatMap(({ interests: kept }) => [...kept]) };
}

describe('the interests of a device', () => {
  it('come in pages of 100, in order', async () => {
    const { api, path } = await withInterests(names(250).toReversed());
    const pages: unknown[] = [];
    let cursor = '';
    for (const length of [100, 100, 50]) {
      const { json } = await api.ask('GET', `${path}?limit=100&cursor=${cursor}`);
      const { interests, responseMetadata } = json as {
        interests: readonly string[];
        responseMetadata: { nextCursor?: string };
      };
      expect(interests).toHaveLength(length);
      pages.push(...interests);
      cursor = responseMetadata.nextCursor ?? '';
    }
    expect(pages).toEqual(names(250));
    expect(cursor).toBe('');
  });

  it('have no next cursor on the last page', async () => {
    const { api, path } = await withInterests(['b', 'a']);
    const all = { status: 200, json: { interests: ['a', 'b'], responseMetadata: {} } };
    expect(await api.ask('GET', path)).toEqual(all);
    expect(await api.ask('GET', `${path}?limit=2`)).toEqual(all);
  });

  for (const [limit, length] of [
    ['1', 1],
    ['007', 7],
    ['100', 100],
    ['101', 100],
    ['5000', 100],
    ['9'.repeat(500), 100],
  ] as const) {
    it(`come ${length} at a time for limit=${limit.slice(0, 10)}`, async () => {
      const { api, path } = await withInterests(names(120));
      const { json } = await api.ask('GET', `${path}?limit=${limit}`);
      expect((json as { interests: string[] }).interests).toHaveLength(length);
    });
  }

  for (const limit of ['0', '-1', '', 'null', '1.5', '1e2', '%2B5', ' 5', '٣', '0x10']) {
    it(`are refused for limit=${limit}`, async () => {
      const { api, path } = await withInterests([]);
      expect(await api.ask('GET', `${path}?limit=${limit}`)).toEqual({
        status: 400,
        error: 'Bad Request',
        description: '`limit` given is not valid',
      });
    });
  }

  for (const cursor of ['!', 'YQ==', 'YQ=', 'Y', 'null', btoa('a b'), 'YWI'.repeat(100)]) {
    it(`are refused for the cursor ${cursor.slice(0, 10)}, which this server never sends`, async () => {
      const { api, path } = await withInterests(['a']);
      expect(await api.ask('GET', `${path}?cursor=${cursor}`)).toEqual({
        status: 400,
        error: 'Bad Request',
        description: '`cursor` given is not valid',
      });
    });
  }

  it('are replaced, with duplicates counted once', async () => {
    const { kept, set } = await withInterests(['old']);
    const full = names(5000);
    expect(await set({ interests: [...full, ...full] })).toEqual({ status: 200 });
    expect(kept()).toEqual(full);
    expect(await set({ interests: [] })).toEqual({ status: 200 });
    expect(kept()).toEqual([]);
  });

  for (const [what, body] of [
    ['arrays in arrays', '['.repeat(1_000_000)],
    ['fields', JSON.stringify(Object.fromEntries(names(90_000).map((name) => [name, 1])))],
    ['empty objects', JSON.stringify({ interests: [], a: Array(300_000).fill({}) })],
    ['numbers', JSON.stringify({ interests: Array(400_000).fill(1) })],
    ['names', JSON.stringify({ interests: names(100_000) })],
  ] as const) {
    it(`are refused without parsing if the body has very many ${what}`, async () => {
      const { set, kept } = await withInterests(['a']);
      expect(await set(body)).toEqual({
        status: 400,
        error: 'Interest set too large',
        description: 'A device can have 5000 interests at most',
      });
      expect(kept()).toEqual(['a']);
    });
  }

  it('may be as many and as long as the limits allow, with every allowed character', async () => {
    const full = names(5000).map((name) => `${name},;.@=_-`.padEnd(164, ','));
    const { kept } = await withInterests(full);
    expect(kept()).toEqual(full);
  });

  it('are not written if nothing changes', async () => {
    const { api, path, set } = await withInterests(['a', 'b']);
    const asked = () => api.asked.splice(0).flatMap(([method]) => (method === 'get' ? [] : method));
    asked();
    await set({ interests: ['b', 'a', 'b'] });
    await api.ask('POST', `${path}/a`);
    await api.ask('DELETE', `${path}/c`);
    expect(asked()).toEqual(['interestsToChange', 'hasInterest', 'hasInterest']);
    await set({ interests: ['a', 'c'] });
    await api.ask('POST', `${path}/b`);
    await api.ask('DELETE', `${path}/a`);
    expect(asked().filter((method) => /^(set|add|remove)/.test(method))).toEqual([
      'setInterests',
      'addInterest',
      'removeInterest',
    ]);
  });

  it('are refused with Retry-After if the devices of the instance have reached their limit together', async () => {
    const { api, path, set, kept } = await withInterests(['a']);
    api.instance = { ...INSTANCE, limits: { ...NO_LIMITS, interests: 2 } };
    const full = {
      status: 429,
      error: 'Instance Full',
      description: 'The instance has reached its limit of interests: 2',
      retryAfter: 600,
    };
    expect(await set({ interests: ['a', 'b', 'c'] })).toEqual(full);
    expect(await set({ interests: ['a', 'b'] })).toEqual({ status: 200 });
    expect(await api.ask('POST', `${path}/c`)).toEqual(full);
    expect(await api.ask('POST', `${path}/b`)).toEqual({ status: 200 });
    expect(await api.ask('DELETE', `${path}/a`)).toEqual({ status: 200 });
    expect(await api.ask('POST', `${path}/c`)).toEqual({ status: 200 });
    expect(kept()).toEqual(['b', 'c']);
    expect(api.logged).toMatchObject([
      { message: 'Instance is full', setting: 'limits.interests' },
    ]);
  });

  for (const [what, body, error] of [
    ['no body', '', 'Bad Request'],
    ['no JSON', '{', 'Bad Request'],
    ['an array', ['a'], 'Bad Request'],
    ['no interests', {}, 'Bad Request'],
    ['null', { interests: null }, 'Bad Request'],
    ['a string', { interests: 'a' }, 'Bad Request'],
    ['a number among them', { interests: ['a', 7] }, 'Bad Request'],
    ['a bad name', { interests: ['a', 'b c'] }, 'Invalid interest name'],
    ['an empty name', { interests: [''] }, 'Invalid interest name'],
    ['a colon', { interests: ['a:b'] }, 'Invalid interest name'],
    ['a name that is too long', { interests: ['a'.repeat(165)] }, 'Invalid interest name'],
    ['too many', { interests: names(5001) }, 'Interest set too large'],
    ['far too many of one', { interests: Array(10_001).fill('a') }, 'Interest set too large'],
  ] as const) {
    it(`are not replaced by ${what}`, async () => {
      const { kept, set } = await withInterests(['old']);
      expect(await set(body)).toEqual({ status: 400, error, description: expect.any(String) });
      expect(kept()).toEqual(['old']);
    });
  }

  it('are added and removed one by one, encoded or not', async () => {
    const { api, path, kept } = await withInterests([]);
    const name = 'aZ9_-=@,.;';
    for (const written of [name, encodeURIComponent(name)]) {
      for (const _ of [1, 2]) {
        expect(await api.ask('POST', `${path}/${written}`)).toEqual({ status: 200 });
      }
      expect(kept()).toEqual([name]);
      for (const _ of [1, 2]) {
        expect(await api.ask('DELETE', `${path}/${written}`)).toEqual({ status: 200 });
      }
      expect(kept()).toEqual([]);
    }
  });

  for (const name of ['a:b', 'a%20b', 'a%2Fb', '%', '%00', 'a%2561', 'a'.repeat(165), '%C3%A9']) {
    it(`cannot be named ${name.slice(0, 10)}`, async () => {
      const { api, path } = await withInterests([]);
      for (const method of ['POST', 'DELETE']) {
        expect(await api.ask(method, `${path}/${name}`)).toEqual({
          status: 400,
          error: 'Invalid interest name',
          description: expect.any(String),
        });
      }
    });
  }

  it('are at most 5,000', async () => {
    const { api, path, kept } = await withInterests(names(5000));
    expect(await api.ask('POST', `${path}/one-more`)).toEqual({
      status: 400,
      error: 'Interest set too large',
      description: 'A device can have 5000 interests at most',
    });
    expect(await api.ask('POST', `${path}/i00000`)).toEqual({ status: 200 });
    expect(kept()).toHaveLength(5000);
  });

  it('are each on exactly one page, for any length of the pages', async () => {
    const name = fc.stringMatching(/^[A-Za-z0-9_\-=@,.;]{1,164}$/);
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(name, { maxLength: 30 }),
        fc.integer({ min: 1, max: 40 }),
        async (interests, limit) => {
          const { api, path } = await withInterests(interests);
          const seen: string[] = [];
          let query: string | undefined = '';
          while (query !== undefined) {
            const { json } = await api.ask('GET', `${path}?limit=${limit}${query}`);
            const page = json as {
              interests: string[];
              responseMetadata: { nextCursor?: string };
            };
            seen.push(...page.interests);
            const { nextCursor } = page.responseMetadata;
            query = nextCursor === undefined ? undefined : `&cursor=${nextCursor}`;
          }
          expect(seen).toEqual(interests.toSorted());
        },
      ),
      { numRuns: 50 },
    );
  });
});
