import { describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { DEFAULT_LIMITS } from '../../../../../testing/push-limits.ts';
import type { PushInstance } from '../../../../push/model/instance.ts';
import {
  BACKEND,
  device,
  events,
  INSTANCE,
  JSON_HEADERS,
  NOW_MS,
  PushApi,
  publishes,
  registrations,
} from '../endpoints.fixture.ts';
import type { DeviceAddressLimits } from './device-rates.ts';

const [HERE, THERE] = ['192.0.2.1', '192.0.2.2'];

/** 60 seconds of one request a second. */
const BURST = 60;

const NONE: DeviceAddressLimits = { requestsPerSecond: 0, rowsPerSecond: 0, reportsPerSecond: 0 };

/** A tenth of the defaults, for a tenth of the phones. */
const TENTH: DeviceAddressLimits = {
  requestsPerSecond: 100,
  rowsPerSecond: 50,
  reportsPerSecond: 100,
};
const TENTH_OF_INSTANCE: PushInstance['limits'] = {
  ...DEFAULT_LIMITS,
  deviceRequestsPerSecond: DEFAULT_LIMITS.deviceRequestsPerSecond / 10,
  deviceRowsPerSecond: DEFAULT_LIMITS.deviceRowsPerSecond / 10,
  reportsPerSecond: DEFAULT_LIMITS.reportsPerSecond / 10,
};

function limited(
  addressLimits: Partial<DeviceAddressLimits>,
  limits: Partial<PushInstance['limits']> = {},
): PushApi {
  const api = new PushApi();
  api.settings = { ...api.settings, addressLimits: { ...NONE, ...addressLimits } };
  api.instance = { ...INSTANCE, limits: { ...INSTANCE.limits, ...limits } };
  return api;
}

const SLOW_DOWN = {
  status: 429,
  error: 'Rate Limited',
  description: 'Too many requests from this address in quick succession',
  retryAfter: 10,
};

/** How many of these requests are not answered with 429. */
async function taken(
  count: number,
  ask: (n: number) => Promise<{ readonly status: number }>,
): Promise<number> {
  let answered = 0;
  for (let n = 0; n < count; n++) if ((await ask(n)).status !== 429) answered++;
  return answered;
}

function ask(api: PushApi, from: string) {
  const body = { event: 'open', publishId: 'p', deviceId: 'd', timestampSecs: 1 };
  return api.ask('POST', events(), { headers: JSON_HEADERS, body, from });
}

const tokens = (n: number) => ({ ...registrations.fcm, token: `token:${n}` });

describe('requests of devices', () => {
  it("from one address have a burst of one minute's worth, and then the rate", async () => {
    const api = limited({ requestsPerSecond: 1 });
    const read = (from = HERE) => api.ask('GET', device('fcm/fcm-1'), { from });
    const key = (from = HERE) =>
      api.ask('GET', `/device_api/v1/instances/${INSTANCE.id}/web-vapid-public-key`, { from });
    // Requests that are refused by their path count as well.
    expect(await taken(20, () => read())).toBe(20);
    expect(await taken(BURST, () => key())).toBe(BURST - 20);
    expect(await key()).toEqual(SLOW_DOWN);
    expect((await key(THERE)).status).toBe(200);
    api.nowMs += 2000;
    expect(await taken(5, () => key())).toBe(2);
    expect(api.logged).toEqual([
      {
        message: 'Requests of devices refused: too many from one address',
        address: HERE,
        setting: 'push.addressLimits.requestsPerSecond',
        limit: 1,
        hint: 'if this is your proxy, add it to trustedProxies',
      },
    ]);
  });

  it('count for every kind of request', async () => {
    const id = `fcm-${crypto.randomUUID()}`;
    const asks: readonly (readonly [string, string, object?])[] = [
      ['GET', device(`fcm/${id}`)],
      ['DELETE', device(`fcm/${id}`)],
      ['PUT', device(`fcm/${id}/metadata`), {}],
      ['PUT', device(`fcm/${id}/token`), { token: 't' }],
      ['PUT', device(`fcm/${id}/user`)],
      ['GET', device(`fcm/${id}/interests`)],
      ['PUT', device(`fcm/${id}/interests`), { interests: [] }],
      ['POST', device(`fcm/${id}/interests/a`)],
      ['DELETE', device(`fcm/${id}/interests/a`)],
      ['POST', device('fcm'), {}],
      ['GET', `/device_api/v1/instances/${INSTANCE.id}/web-vapid-public-key`],
      ['GET', '/sdk/service-worker.js'],
    ];
    for (const [method, path, body] of asks) {
      const api = limited({ requestsPerSecond: 1 });
      expect([path, await taken(BURST + 5, () => api.ask(method, path, { body }))]).toEqual([
        path,
        BURST,
      ]);
    }
  });

  it('count as several if their bodies are long', async () => {
    const api = limited({ requestsPerSecond: 1 });
    const id = await api.register('fcm');
    const interests = Array.from({ length: 60 }, (_, n) => `${n}-`.padEnd(164, 'x'));
    const set = () => api.ask('PUT', device(`fcm/${id}/interests`), { body: { interests } });
    // 10 KiB each, and one for the registration.
    expect(await taken(10, set)).toBe(5);
  });

  it('of one instance are limited for all addresses together', async () => {
    const api = limited({}, { deviceRequestsPerSecond: 1 });
    const key = (n: number) =>
      api.ask('GET', `/device_api/v1/instances/${INSTANCE.id}/web-vapid-public-key`, {
        from: `198.51.100.${n}`,
      });
    expect(await taken(BURST + 5, key)).toBe(BURST);
    expect(await key(1)).toEqual({
      ...SLOW_DOWN,
      description: 'Too many requests for this instance in quick succession',
    });
    expect(api.logged).toMatchObject([
      {
        message: 'Requests of devices refused: too many for the instance',
        setting: 'limits.deviceRequestsPerSecond',
      },
    ]);
  });

  it('count without a valid secret key, and never for a backend', async () => {
    const api = limited({ requestsPerSecond: 1 });
    const read = (headers: Record<string, string>) =>
      api.ask('GET', publishes('/pubid-1'), { headers });
    const wrong = { authorization: 'Bearer wrong' };
    expect(await taken(BURST + 5, () => read(wrong))).toBe(BURST);
    expect(await read(wrong)).toEqual(SLOW_DOWN);
    expect(await taken(200, () => read(BACKEND))).toBe(200);
  });
});

describe('rows that devices change', () => {
  it('count by what changes, not by requests', async () => {
    const api = limited({ rowsPerSecond: 1 });
    const id = await api.register('fcm');
    const set = (...interests: string[]) =>
      api.ask('PUT', device(`fcm/${id}/interests`), { body: { interests } });
    const names = (count: number, prefix = 'i') =>
      Array.from({ length: count }, (_, n) => `${prefix}${n}`);
    // A registration is four rows: 56 are left.
    expect((await set(...names(30))).status).toBe(200);
    expect(await taken(50, () => set(...names(30)))).toBe(50);
    expect(await taken(50, () => api.ask('POST', device(`fcm/${id}/interests/i1`)))).toBe(50);
    expect(await taken(50, () => api.ask('DELETE', device(`fcm/${id}/interests/x1`)))).toBe(50);
    expect((await set(...names(10), ...names(5, 'x'))).status).toBe(200);
    // 25 were changed, and one is left.
    expect(await set(...names(10), ...names(2, 'x'))).toEqual(SLOW_DOWN);
    expect(await taken(3, (n) => api.ask('POST', device(`fcm/${id}/interests/y${n}`)))).toBe(1);
    expect(api.kept()[0]?.interests.size).toBe(16);
  });

  it('count for registrations, and more for larger ones', async () => {
    const small = limited({ rowsPerSecond: 1 });
    const register = (api: PushApi, body: object) => api.ask('POST', device('fcm'), { body });
    expect(await taken(30, (n) => register(small, tokens(n)))).toBe(15);
    const large = limited({ rowsPerSecond: 1 });
    const body = (n: number) => ({ token: `${n}-`.padEnd(4096, 'x') });
    expect(await taken(30, (n) => register(large, body(n)))).toBe(7);
    expect(large.kept()).toHaveLength(7);
  });

  it('count for metadata, tokens and users', async () => {
    const asks: ((api: PushApi, id: string, n: number) => Promise<{ status: number }>)[] = [
      (api, id, n) =>
        api.ask('PUT', device(`fcm/${id}/metadata`), { body: { sdkVersion: `${n}` } }),
      (api, id, n) => api.ask('PUT', device(`fcm/${id}/token`), { body: { token: `t${n}` } }),
    ];
    for (const ask of asks) {
      const api = limited({ rowsPerSecond: 1 });
      const id = await api.register('fcm');
      expect(await taken(BURST + 5, (n) => ask(api, id, n))).toBe(BURST - 4);
    }
  });

  it('count for deletions, but not for an unknown device', async () => {
    const api = limited({ rowsPerSecond: 1 });
    const ids: string[] = [];
    for (let n = 0; n < BURST + 5; n++) {
      const from = `198.51.100.${n}`;
      const { json } = await api.ask('POST', device('fcm'), { body: tokens(n), from });
      ids.push((json as { id: string }).id);
    }
    const unknown = () => api.ask('DELETE', device(`fcm/fcm-${crypto.randomUUID()}`));
    expect(await taken(200, unknown)).toBe(200);
    expect(api.asked.filter(([method]) => method === 'delete')).toEqual([]);
    expect(await taken(ids.length, (n) => api.ask('DELETE', device(`fcm/${ids[n]}`)))).toBe(BURST);
    expect(await taken(200, unknown)).toBe(200);
  });

  it('of one instance are limited for all addresses together', async () => {
    const api = limited({}, { deviceRowsPerSecond: 1 });
    const register = (n: number) =>
      api.ask('POST', device('fcm'), { body: tokens(n), from: `198.51.100.${n}` });
    expect(await taken(30, register)).toBe(15);
  });

  it('that exceed the burst can still be changed after a pause', async () => {
    const api = limited({ rowsPerSecond: 1 });
    const id = await api.register('fcm');
    const interests = Array.from({ length: 300 }, (_, n) => `i${n}`);
    const set = () => api.ask('PUT', device(`fcm/${id}/interests`), { body: { interests } });
    expect((await set()).status).toBe(429);
    api.nowMs += 60_000;
    expect((await set()).status).toBe(200);
  });
});

describe('the rates of an instance', () => {
  const [ATTACKERS, PHONES] = [20, 100];
  const few = { deviceRequestsPerSecond: 100, deviceRowsPerSecond: 100, reportsPerSecond: 100 };

  it.each([
    [
      'requests',
      (api: PushApi, id: string, from: string) => api.ask('GET', device(`fcm/${id}`), { from }),
    ],
    [
      'rows',
      (api: PushApi, id: string, from: string) =>
        api.ask('PUT', device(`fcm/${id}/metadata`), { body: {}, from }),
    ],
    ['reports', (api: PushApi, _: string, from: string) => ask(api, from)],
  ])('leave room for addresses with few %s while others take all they can', async (_, attack) => {
    const api = limited({}, few);
    const id = await api.register('fcm');
    for (let seconds = 0; seconds < 20; seconds++) {
      for (let n = 0; n < ATTACKERS; n++) {
        await untilRefused(() => attack(api, id, `198.51.100.${n}`));
      }
      api.nowMs += 1_000;
    }
    const statuses = new Set<number>();
    for (let n = 0; n < PHONES; n++) {
      const from = `203.0.113.${n}`;
      const { json, status } = await api.ask('POST', device('fcm'), { body: tokens(n), from });
      const path = device(`fcm/${(json as { id?: string } | undefined)?.id}/interests`);
      const body = { interests: ['news', 'sport'] };
      statuses.add(status);
      statuses.add((await api.ask('PUT', path, { body, from })).status);
      statuses.add((await ask(api, from)).status);
      // Ten phones a second.
      api.nowMs += 100;
      for (let n = 0; n < ATTACKERS; n++) {
        await untilRefused(() => attack(api, id, `198.51.100.${n}`));
      }
    }
    expect(statuses).toEqual(new Set([200]));
  });

  it('allow a thousand phones with addresses of their own to start in one second', async () => {
    const api = limited(TENTH, TENTH_OF_INSTANCE);
    for (let n = 0; n < 100; n++) {
      const from = `2001:db8:${n}::/64`;
      const { json } = await api.ask('POST', device('fcm'), { body: tokens(n), from });
      const path = device(`fcm/${(json as { id?: string }).id}/interests`);
      const body = { interests: ['news', 'sport'] };
      expect((await api.ask('PUT', path, { body, from })).status).toBe(200);
      expect((await ask(api, from)).status).toBe(200);
    }
  });
});

async function untilRefused(ask: () => Promise<{ readonly status: number }>): Promise<void> {
  while ((await ask()).status !== 429);
}

describe('reports', () => {
  it('have rates of their own by address and by instance', async () => {
    const api = limited({ reportsPerSecond: 1 });
    expect(await taken(BURST + 5, () => ask(api, HERE))).toBe(BURST);
    expect(await ask(api, HERE)).toEqual(SLOW_DOWN);
    expect((await ask(api, THERE)).status).toBe(200);
    const shared = limited({}, { reportsPerSecond: 1 });
    expect(await taken(BURST + 5, (n) => ask(shared, `198.51.100.${n}`))).toBe(BURST);
  });
});

it('3,000 phones behind one address can start an app at once and open its notification', async () => {
  const api = limited(TENTH, TENTH_OF_INSTANCE);
  const beamsToken = (sub: string) => {
    const claims = {
      sub,
      exp: NOW_MS / 1000 + 60,
      iss: `https://${INSTANCE.id}.pushnotifications.pusher.com`,
    };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${part({ alg: 'HS256' })}.${part(claims)}`;
    const [secret = ''] = INSTANCE.secretKeys;
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };
  const refused: unknown[] = [];
  const does = async (...asked: Parameters<PushApi['ask']>) => {
    const heard = await api.ask(...asked);
    if (heard.status !== 200) refused.push([asked, heard]);
    return heard;
  };
  for (let n = 0; n < 300; n++) {
    const { json } = await does('POST', device('fcm'), { body: tokens(n) });
    const path = `fcm/${(json as { id: string }).id}`;
    const interests = ['news', 'sport', `team-${n % 50}`];
    await does('PUT', device(`${path}/interests`), { body: { interests } });
    await does('PUT', device(`${path}/metadata`), { body: { sdkVersion: '1.10.0' } });
    const headers = { authorization: `Bearer ${beamsToken(`user-${n}`)}` };
    await does('PUT', device(`${path}/user`), { headers });
    const body = { event: 'open', publishId: 'p', deviceId: 'd', timestampSecs: 1 };
    await does('POST', events(), { headers: JSON_HEADERS, body });
  }
  expect(refused).toEqual([]);
  expect(api.kept()).toHaveLength(300);
});
