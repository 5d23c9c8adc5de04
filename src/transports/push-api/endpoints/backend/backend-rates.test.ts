import { describe, expect, it } from 'bun:test';
import { NO_LIMITS } from '../../../../../testing/push-limits.ts';
import { BACKEND, BACKEND_JSON, INSTANCE, PushApi, publishes, user } from '../endpoints.fixture.ts';

const PUBLISH = { interests: ['shop'], fcm: { data: { a: 'b' } } };

/** An instance whose backend may send ten requests a second. */
function limited(backendRequestsPerSecond = 10): PushApi {
  const api = new PushApi();
  api.instance = { ...INSTANCE, limits: { ...NO_LIMITS, backendRequestsPerSecond } };
  return api;
}

/** How many of 30 requests are not answered with 429. */
async function answered(ask: () => Promise<{ readonly status: number }>): Promise<number> {
  let count = 0;
  for (let n = 0; n < 30; n++) if ((await ask()).status !== 429) count++;
  return count;
}

const publish = (api: PushApi, body: unknown = PUBLISH) =>
  api.ask('POST', publishes('/interests'), { headers: BACKEND_JSON, body });

describe('requests of a backend', () => {
  for (const [method, path] of [
    ['GET', publishes('/pubid-1')],
    ['DELETE', publishes('/pubid-1')],
    ['GET', publishes('/pubid-1/pauses')],
    ['GET', publishes('/pubid-1/devices/fcm-1')],
    ['DELETE', user('ann')],
  ] as const) {
    it(`have a rate limit: ${method} ${path}`, async () => {
      const api = limited();
      const ask = () => api.ask(method, path, { headers: BACKEND });
      expect(await answered(ask)).toBe(10);
      expect(await ask()).toEqual({
        status: 429,
        error: 'Rate Limited',
        description: 'Too many requests in quick succession: at most 10 per second',
        retryAfter: 1,
      });
      api.nowMs += 500;
      expect(await answered(ask)).toBe(5);
    });
  }

  it('count together, but not as publishes', async () => {
    const api = limited();
    const ask = () => api.ask('GET', publishes('/pubid-1'), { headers: BACKEND });
    expect(await answered(() => publish(api))).toBe(30);
    expect(await answered(ask)).toBe(10);
    expect((await api.ask('DELETE', user('ann'), { headers: BACKEND })).status).toBe(429);
    expect(await answered(() => publish(api))).toBe(30);
  });

  it('count only with a valid key', async () => {
    const api = limited();
    const wrong = { authorization: 'Bearer wrong' };
    await answered(() => api.ask('GET', publishes('/pubid-1'), { headers: wrong }));
    expect(await answered(() => api.ask('GET', publishes('/pubid-1'), { headers: BACKEND }))).toBe(
      10,
    );
  });

  it('have no limit if it is 0', async () => {
    const api = limited(0);
    expect(await answered(() => api.ask('GET', publishes('/pubid-1'), { headers: BACKEND }))).toBe(
      30,
    );
    expect(await answered(() => publish(api, {}))).toBe(30);
  });
});

describe('invalid publishes', () => {
  it('have the same rate limit, beyond which the next are not read', async () => {
    const api = limited();
    expect(await answered(() => publish(api, {}))).toBe(10);
    expect(await publish(api)).toMatchObject({ status: 429, retryAfter: 1 });
    api.nowMs += 100;
    expect((await publish(api)).status).toBe(200);
  });

  it('count more the longer they are', async () => {
    const api = limited();
    const body = { ...PUBLISH, interests: 'x'.repeat(5_000) };
    // Each costs five.
    expect(await answered(() => publish(api, body))).toBe(2);
  });
});
