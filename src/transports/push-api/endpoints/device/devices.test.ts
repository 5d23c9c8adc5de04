import { describe, expect, it } from 'bun:test';
import { NO_LIMITS } from '../../../../../testing/push-limits.ts';
import {
  device,
  INSTANCE,
  JSON_HEADERS,
  PushApi,
  registrations,
  UNKNOWN,
} from '../endpoints.fixture.ts';

const platforms = ['apns', 'fcm', 'web'] as const;
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}';
const NO_DEVICE = {
  status: 404,
  error: 'Device not found',
  description: 'Could not find the device',
};
const NO_INSTANCE = {
  status: 404,
  error: 'Instance not found',
  description: 'Could not find the instance',
};

describe('registering', () => {
  for (const platform of platforms) {
    it(`a device of ${platform} returns its id, with any Content-Type`, async () => {
      const api = new PushApi();
      for (const headers of [{}, JSON_HEADERS, { 'content-type': 'text/plain' }]) {
        const heard = await api.ask('POST', device(platform), {
          headers,
          body: registrations[platform],
        });
        expect(heard.status).toBe(200);
        const id = expect.stringMatching(new RegExp(`^${platform}-${UUID}$`));
        expect(heard.json).toEqual(platform === 'web' ? { id } : { id, initialInterestSet: [] });
      }
      // The same token each time: one device.
      expect(api.kept()).toHaveLength(1);
    });

    it(`a device of ${platform} that registers its token again keeps its id, interests and user`, async () => {
      const api = new PushApi();
      const id = await api.register(platform);
      await api.ask('PUT', device(`${platform}/${id}/interests`), {
        body: { interests: ['news', 'Zoo'] },
      });
      const metadata = { sdkVersion: '4.0.1' };
      const body = { ...registrations[platform], metadata };
      const heard = await api.ask('POST', device(platform), { body });
      expect(heard.json).toEqual(
        platform === 'web' ? { id } : { id, initialInterestSet: ['Zoo', 'news'] },
      );
      expect(api.kept()).toMatchObject([{ metadata, interests: new Set(['news', 'Zoo']) }]);
    });

    for (const [what, body, error] of [
      ['no body', '', 'Bad Request'],
      ['an array', '[]', 'Bad Request'],
      ['no token', { ...registrations[platform], token: undefined }, 'Bad Request'],
      ['a wrong token', { ...registrations[platform], token: ' ' }, 'Bad Request'],
      ['wrong metadata', { ...registrations[platform], metadata: 7 }, 'Bad Request'],
    ] as const) {
      it(`a device of ${platform} with ${what} is refused`, async () => {
        const api = new PushApi();
        const heard = await api.ask('POST', device(platform), { body });
        expect(heard).toEqual({ status: 400, error, description: expect.any(String) });
        expect(api.kept()).toEqual([]);
      });
    }

    it(`a device of ${platform} is refused with Retry-After if the instance is full, unless its token is known`, async () => {
      const api = new PushApi();
      api.instance = { ...INSTANCE, limits: { ...NO_LIMITS, devices: 1 } };
      const first = await api.register(platform);
      const [other = platform] = platforms.filter((one) => one !== platform);
      const body = registrations[other];
      expect(await api.ask('POST', device(other), { body })).toEqual({
        status: 429,
        error: 'Instance Full',
        description: 'The instance has reached its limit of devices: 1',
        retryAfter: 600,
      });
      expect(api.logged).toEqual([
        {
          message: 'Instance is full',
          instance: INSTANCE.id,
          setting: 'limits.devices',
          limit: 1,
        },
      ]);
      expect(await api.register(platform)).toBe(first);
      expect(api.kept()).toHaveLength(1);
    });
  }

  it('keeps what the request says about the SDK and the browser', async () => {
    const clients: string[] = [];
    for (const headers of [
      { 'x-pusher-library': 'push-notifications-swift 4.0.0', 'user-agent': 'Shop/1\u0007' },
      { 'user-agent': 'Mozilla/5.0' },
      {},
      { 'user-agent': 'a'.repeat(1000) },
    ]) {
      const api = new PushApi();
      await api.ask('POST', device('web'), { headers, body: registrations.web });
      clients.push(...api.kept().map(({ registered }) => registered.client));
    }
    expect(clients).toEqual([
      'push-notifications-swift 4.0.0 Shop/1 ',
      'Mozilla/5.0',
      '',
      'a'.repeat(300),
    ]);
  });

  it('a browser is refused if the instance has no web push', async () => {
    const api = new PushApi();
    api.instance = { ...INSTANCE, web: undefined };
    expect(await api.ask('POST', device('web'), { body: registrations.web })).toEqual({
      status: 400,
      error: 'Bad Request',
      description: 'The instance has no web push configured',
    });
  });

  it('on another platform is not a path of this API', async () => {
    for (const platform of ['safari', 'APNS', '']) {
      const heard = await new PushApi().ask('POST', device(platform), { body: registrations.web });
      expect(heard).toMatchObject({ status: 404, error: 'Not found' });
    }
  });
});

describe('the key that browsers subscribe with', () => {
  const path = `/device_api/v1/instances/${INSTANCE.id}/web-vapid-public-key`;

  it('is answered', async () => {
    expect(await new PushApi().ask('GET', path)).toEqual({
      status: 200,
      json: { vapidPublicKey: INSTANCE.web?.vapidPublicKey },
    });
  });

  it('is not found if the instance has no web push', async () => {
    const api = new PushApi();
    api.instance = { ...INSTANCE, web: undefined };
    expect(await api.ask('GET', path)).toEqual({
      status: 404,
      error: 'Not found',
      description: 'The instance has no web push configured',
    });
  });

  it('is not found for an unknown instance', async () => {
    const heard = await new PushApi().ask('GET', path.replace(INSTANCE.id, UNKNOWN));
    expect(heard).toEqual(NO_INSTANCE);
  });
});

describe('a device', () => {
  it('can read itself', async () => {
    const api = new PushApi();
    const id = await api.register('apns');
    expect(await api.ask('GET', device(`apns/${id}`), { headers: JSON_HEADERS })).toEqual({
      status: 200,
      json: { id, userId: null, metadata: { sdkVersion: '4.0.0', iosVersion: '19.1' } },
    });
  });

  it('is found by its id in any case', async () => {
    const api = new PushApi();
    const id = await api.register('fcm');
    const spelled = `fcm-${id.slice(4).toUpperCase()}`;
    const heard = await api.ask('GET', device(`fcm/${spelled}`));
    expect(heard).toMatchObject({ status: 200, json: { id } });
  });

  it('changes its metadata', async () => {
    const api = new PushApi();
    const id = await api.register();
    const metadata = { sdkVersion: '2.1.1' };
    expect(await api.ask('PUT', device(`web/${id}/metadata`), { body: metadata })).toEqual({
      status: 200,
    });
    expect(await api.ask('GET', device(`web/${id}`))).toMatchObject({ json: { metadata } });
    for (const body of ['', '[]', { sdkVersion: 7 }]) {
      const heard = await api.ask('PUT', device(`web/${id}/metadata`), { body });
      expect(heard).toMatchObject({ status: 400, error: 'Bad Request' });
    }
  });

  it('changes its token, and not on iOS', async () => {
    const api = new PushApi();
    const id = await api.register('fcm');
    const body = { token: 'fcm:new' };
    expect(await api.ask('PUT', device(`fcm/${id}/token`), { body })).toEqual({ status: 200 });
    expect(api.kept()).toMatchObject([{ registered: { id }, token: { token: 'fcm:new' } }]);
    for (const bad of ['', {}, { token: '' }]) {
      const heard = await api.ask('PUT', device(`fcm/${id}/token`), { body: bad });
      expect(heard).toMatchObject({ status: 400, error: 'Bad Request' });
    }
    const heard = await api.ask('PUT', device(`apns/${id}/token`), { body });
    expect(heard).toMatchObject({ status: 404, error: 'Not found' });
  });

  it('is deleted, and deleting it again succeeds', async () => {
    const api = new PushApi();
    const id = await api.register();
    for (const _ of [1, 2]) {
      expect(await api.ask('DELETE', device(`web/${id}`))).toEqual({ status: 200 });
    }
    expect(api.kept()).toEqual([]);
    expect(await api.ask('GET', device(`web/${id}`))).toEqual(NO_DEVICE);
  });

  for (const id of ['x', 'web-1', `apns-${UNKNOWN}`, '%00', 'null']) {
    it(`is deleted with any id, for example ${id}`, async () => {
      const api = new PushApi();
      expect(await api.ask('DELETE', device(`web/${id}`))).toEqual({ status: 200 });
      expect(api.asked).toEqual([]);
    });
  }

  it('of another instance is not deleted', async () => {
    const api = new PushApi();
    const id = await api.register();
    api.instance = { ...INSTANCE, number: api.devices.newInstance() };
    expect(await api.ask('DELETE', device(`web/${id}`))).toEqual({ status: 200 });
    expect(await api.ask('GET', device(`web/${id}`))).toEqual(NO_DEVICE);
    expect(api.kept()).toHaveLength(1);
  });
});

describe('the requests of a device', () => {
  const asked = [
    ['GET', '', undefined],
    ['PUT', '/metadata', { sdkVersion: '1' }],
    ['PUT', '/token', { token: 'fcm:new' }],
    ['GET', '/interests', undefined],
    ['PUT', '/interests', { interests: [] }],
    ['POST', '/interests/shop', undefined],
    ['DELETE', '/interests/shop', undefined],
  ] as const;
  for (const [method, path, body] of asked) {
    for (const id of [`fcm-${UNKNOWN}`, `web-${UNKNOWN}`, 'fcm-1', '%00']) {
      it(`by ${method} ${path} is refused for the unknown id ${id}`, async () => {
        const heard = await new PushApi().ask(method, device(`fcm/${id}${path}`), { body });
        expect(heard).toEqual(NO_DEVICE);
      });
    }
  }

  for (const [method, path, body] of [
    ...asked,
    ['PUT', '/user', undefined],
    ['DELETE', '', undefined],
  ] as const) {
    for (const instance of [UNKNOWN, 'not-a-uuid', '%00']) {
      it(`by ${method} ${path} is refused for the unknown instance ${instance}`, async () => {
        const api = new PushApi();
        const id = await api.register('fcm');
        const heard = await api.ask(method, device(`fcm/${id}${path}`, instance), { body });
        expect(heard).toEqual(NO_INSTANCE);
      });
    }

    it(`by ${method} ${path} may have no body but a Content-Type`, async () => {
      const api = new PushApi();
      const id = await api.register('fcm');
      const path_ = device(`fcm/${id}${path}`);
      const heard = await api.ask(method, path_, { headers: JSON_HEADERS, body: '' });
      expect(heard.status).toBe(body !== undefined ? 400 : path === '/user' ? 401 : 200);
    });
  }

  it('by POST are refused for an unknown instance', async () => {
    const heard = await new PushApi().ask('POST', device('fcm', UNKNOWN), {
      body: registrations.fcm,
    });
    expect(heard).toEqual(NO_INSTANCE);
  });
});
