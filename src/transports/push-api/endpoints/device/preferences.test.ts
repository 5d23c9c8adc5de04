import { describe, expect, it } from 'bun:test';
import {
  BACKEND,
  BACKEND_JSON,
  device,
  INSTANCE,
  JSON_HEADERS,
  PushApi,
  registrations,
  UNKNOWN,
  user,
} from '../endpoints.fixture.ts';

const GERMAN = {
  language: 'de-AT',
  timeZone: 'Europe/Vienna',
  quietHours: { from: '22:00', to: '07:30' },
};
const NOTHING = { language: null, timeZone: null, quietHours: null };
const BAD = { status: 400, error: 'Bad Request' };
const NO_DEVICE = { status: 404, error: 'Device not found' };

const of = (id: string, platform = 'web') => device(`${platform}/${id}/preferences`);
const ofUser = (name: string) => user(name).replace('/users/', '/user-preferences/');

describe('the preferences of a device', () => {
  it('are unknown at first, and are shown as they were set', async () => {
    const api = new PushApi();
    const id = await api.register();
    expect(await api.ask('GET', of(id))).toEqual({ status: 200, json: NOTHING });
    expect(await api.ask('PUT', of(id), { body: GERMAN })).toEqual({ status: 200 });
    expect(await api.ask('GET', of(id))).toEqual({ status: 200, json: GERMAN });
  });

  it('change only where a body says so', async () => {
    const api = new PushApi();
    const id = await api.register();
    await api.ask('PUT', of(id), { body: GERMAN });
    await api.ask('PUT', of(id), { body: { language: null, quietHours: 'none' } });
    expect(await api.ask('GET', of(id))).toMatchObject({
      json: { language: null, timeZone: 'Europe/Vienna', quietHours: 'none' },
    });
  });

  it('are set by the token where an SDK hides the id', async () => {
    for (const platform of ['apns', 'fcm', 'web'] as const) {
      const api = new PushApi();
      const id = await api.register(platform);
      const { token } = registrations[platform];
      const body = { token: platform === 'apns' ? token.toUpperCase() : token, language: 'de' };
      expect(await api.ask('PUT', of('by-token', platform), { body })).toEqual({ status: 200 });
      expect(await api.ask('GET', of(id, platform))).toMatchObject({ json: { language: 'de' } });
      expect(await api.ask('GET', of('by-token', platform))).toMatchObject(NO_DEVICE);
    }
  });

  it('are refused with the name of the field', async () => {
    const api = new PushApi();
    const id = await api.register();
    const description =
      '`timeZone`: must be a time zone of the IANA database, for example Europe/Berlin';
    expect(await api.ask('PUT', of(id), { body: { timeZone: 'Mars' } })).toEqual({
      ...BAD,
      description,
    });
    expect(await api.ask('PUT', of(id), { body: '[]' })).toMatchObject(BAD);
    const body = { language: 'de' };
    expect(await api.ask('PUT', of('by-token', 'fcm'), { body })).toMatchObject({
      ...BAD,
      description: expect.stringMatching(/^`token`/),
    });
    expect(await api.ask('GET', of(id))).toMatchObject({ json: NOTHING });
  });

  it('are those of a device that exists', async () => {
    const api = new PushApi();
    const body = { ...registrations.fcm, language: 'de' };
    for (const [platform, id] of [
      ['web', `web-${UNKNOWN}`],
      ['web', 'nonsense'],
      ['fcm', 'by-token'],
    ] as const) {
      expect(await api.ask('PUT', of(id, platform), { body })).toMatchObject(NO_DEVICE);
    }
    expect(await api.ask('GET', of(`web-${UNKNOWN}`))).toMatchObject(NO_DEVICE);
  });

  it('cost a row of the rate', async () => {
    const api = new PushApi();
    const id = await api.register();
    const addressLimits = { requestsPerSecond: 0, rowsPerSecond: 1, reportsPerSecond: 0 };
    api.settings = { ...api.settings, addressLimits };
    const statuses = new Set<number>();
    for (let times = 0; times < 61; times++) {
      statuses.add((await api.ask('PUT', of(id), { body: GERMAN })).status);
    }
    expect([...statuses]).toEqual([200, 429]);
  });
});

describe('the language of a header', () => {
  const register = async (api: PushApi, language?: string) => {
    const headers = language === undefined ? {} : { 'accept-language': language };
    const heard = await api.ask('POST', device('fcm'), { body: registrations.fcm, headers });
    return (heard.json as { id: string }).id;
  };

  it('is kept from a registration, and from metadata', async () => {
    const api = new PushApi();
    const id = await register(api, 'fr;q=0.5, de-CH');
    expect(await api.ask('GET', of(id, 'fcm'))).toMatchObject({ json: { language: 'de-CH' } });
    const headers = { 'accept-language': 'it' };
    await api.ask('PUT', device(`fcm/${id}/metadata`), { body: {}, headers });
    expect(await api.ask('GET', of(id, 'fcm'))).toMatchObject({ json: { language: 'it' } });
    await register(api);
    expect(await api.ask('GET', of(id, 'fcm'))).toMatchObject({ json: { language: 'it' } });
    await register(api, 'es');
    expect(await api.ask('GET', of(id, 'fcm'))).toMatchObject({ json: { language: 'es' } });
  });

  it('never replaces a language that the app has set', async () => {
    const api = new PushApi();
    const id = await register(api, 'fr');
    await api.ask('PUT', of(id, 'fcm'), { body: { language: 'de' } });
    await register(api, 'it');
    expect(await api.ask('GET', of(id, 'fcm'))).toMatchObject({ json: { language: 'de' } });
    await api.ask('PUT', of(id, 'fcm'), { body: { language: null } });
    expect(await api.ask('GET', of(id, 'fcm'))).toMatchObject({ json: { language: 'it' } });
  });
});

describe('the preferences of a user', () => {
  it('are set, shown and forgotten by the backend, slashes in the user id included', async () => {
    const api = new PushApi();
    const path = ofUser('ann%2Fb/c');
    const headers = BACKEND_JSON;
    expect(await api.ask('GET', path, { headers: BACKEND })).toMatchObject({ json: NOTHING });
    expect(await api.ask('PUT', path, { headers, body: GERMAN })).toEqual({ status: 200 });
    await api.ask('PUT', path, { headers, body: { timeZone: null } });
    expect(await api.ask('GET', path, { headers: BACKEND })).toEqual({
      status: 200,
      json: { ...GERMAN, timeZone: null },
    });
    expect(await api.ask('GET', ofUser('bob'), { headers: BACKEND })).toMatchObject({
      json: NOTHING,
    });
    expect(await api.ask('DELETE', path, { headers: BACKEND })).toEqual({ status: 200 });
    expect(await api.ask('GET', path, { headers: BACKEND })).toMatchObject({ json: NOTHING });
  });

  it('go with the user', async () => {
    const api = new PushApi();
    await api.ask('PUT', ofUser('ann'), { headers: BACKEND_JSON, body: GERMAN });
    await api.ask('DELETE', user('ann'), { headers: BACKEND });
    expect(await api.ask('GET', ofUser('ann'), { headers: BACKEND })).toMatchObject({
      json: NOTHING,
    });
  });

  it('need the secret key, a user id and right fields', async () => {
    const api = new PushApi();
    for (const method of ['GET', 'PUT', 'DELETE']) {
      expect(await api.ask(method, ofUser('ann'), { headers: JSON_HEADERS })).toMatchObject({
        status: 400,
      });
      const authorization = { ...JSON_HEADERS, authorization: 'Bearer wrong' };
      expect(await api.ask(method, ofUser('ann'), { headers: authorization })).toMatchObject({
        status: 401,
      });
    }
    const put = (name: string, body: unknown) =>
      api.ask('PUT', ofUser(name), { headers: BACKEND_JSON, body });
    expect(await put('a'.repeat(165), GERMAN)).toMatchObject({ status: 400 });
    expect(await put('ann', { language: 'de_DE' })).toMatchObject({
      status: 400,
      description: expect.stringMatching(/^`language`/),
    });
    expect(await put('ann', '[]')).toMatchObject({ status: 400 });
  });

  it('are not counted as publishes, but as requests of the backend', async () => {
    const api = new PushApi();
    const limits = { ...INSTANCE.limits, backendRequestsPerSecond: 1 };
    api.instance = { ...INSTANCE, limits };
    const put = () => api.ask('PUT', ofUser('ann'), { headers: BACKEND_JSON, body: GERMAN });
    const heard = await Promise.all(Array.from({ length: 70 }, put));
    expect(heard.some(({ status }) => status === 429)).toBe(true);
  });
});
