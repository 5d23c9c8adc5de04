import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { serviceWorkerScript } from '../service-worker/service-worker.ts';
import { PushApi } from './endpoints.fixture.ts';

const PATH = '/sdk/service-worker.js';

describe('the service worker', () => {
  for (const [what, headers, endpoint] of [
    ['that was asked', { host: 'push.test:6002' }, 'http://push.test:6002'],
    [
      'that a proxy names',
      { host: 'push.test', 'x-forwarded-proto': 'https' },
      'https://push.test',
    ],
    [
      'that the first of two proxies names',
      { host: 'push.test', 'x-forwarded-proto': 'HTTPS, http' },
      'https://push.test',
    ],
    [
      'of one scheme of two',
      { host: '[::1]:80', 'x-forwarded-proto': 'javascript' },
      'http://[::1]:80',
    ],
  ] as const) {
    it(`has the address ${what}`, async () => {
      expect(await new PushApi().ask('GET', `${PATH}?v=1`, { headers })).toEqual({
        status: 200,
        text: serviceWorkerScript(endpoint),
      });
    });
  }

  it('has an https address if the listener uses TLS', async () => {
    const api = new PushApi();
    api.settings = { ...api.settings, tls: true };
    const ask = (headers: Record<string, string>) => api.ask('GET', PATH, { headers });
    const host = 'push.test';
    expect((await ask({ host })).text).toBe(serviceWorkerScript('https://push.test'));
    const forwarded = await ask({ host, 'x-forwarded-proto': 'http' });
    expect(forwarded.text).toBe(serviceWorkerScript('http://push.test'));
  });

  it('has the public address if there is one, whatever the request says', async () => {
    const api = new PushApi();
    api.settings = { ...api.settings, publicUrl: 'https://push.example.org' };
    for (const headers of [{}, { host: '"' }, { host: 'push.test' }]) {
      const { text } = await api.ask('GET', PATH, { headers });
      expect(text).toBe(serviceWorkerScript('https://push.example.org'));
    }
  });

  it('is refused for an invalid host', async () => {
    const hosts = ['', 'a b', 'a/b', 'a:b', 'a:1:2', 'user@a', '[', '[::1', 'a:123456', 'é', 'a\n'];
    for (const headers of [{}, ...hosts.map((host) => ({ host }))]) {
      const heard = await new PushApi().ask('GET', PATH, { headers });
      expect(heard).toMatchObject({ status: 400, error: 'Bad request' });
    }
  });

  it('is made for a whole origin or not at all, for any input', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), async (host, proto) => {
        const headers = { host, 'x-forwarded-proto': proto };
        const { status, text } = await new PushApi().ask('GET', PATH, { headers });
        if (status === 200) {
          expect(text).toBe(
            serviceWorkerScript(`${proto.toLowerCase() === 'https' ? 'https' : 'http'}://${host}`),
          );
        }
      }),
    );
  });
});
