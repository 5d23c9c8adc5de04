import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { randomBytes, randomUUID } from 'node:crypto';
import { newP256Pair } from '../../../../src/fake-gateways/p256.ts';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  anyEndpoint,
  ask,
  device,
  expectEmpty,
  fieldRefusal,
  INSTANCE,
  JSON_HEADERS,
  NEIGHBOUR,
  NO_DEVICE,
  NO_INSTANCE,
  NO_PATH,
  refusal,
  registered,
  registration,
  shownDevice,
  startPush,
  subscription,
  UNKNOWN,
  VAPID_PUBLIC_KEY,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const register = (body: unknown, headers: Readonly<Record<string, string>> = JSON_HEADERS) =>
  ask(server, 'POST', device('web'), { headers, body });
const withToken = (token: unknown) => register({ token, metadata: { sdkVersion: '2.1.0' } });
const subscribed = (value: unknown) =>
  withToken(Buffer.from(JSON.stringify(value)).toString('base64'));
const at = (endpoint: unknown) => subscribed(subscription(endpoint));
const withKeys = (keys: object) => subscribed(subscription(anyEndpoint(), keys));

const WRONG_TOKEN = fieldRefusal('token', 400, 'Bad Request');

describe('the VAPID public key', () => {
  const path = (instance: string) => `/device_api/v1/instances/${instance}/web-vapid-public-key`;

  it('is a point of P-256 in URL-safe base64', async () => {
    const answer = await ask(server, 'GET', path(INSTANCE.id));
    expect(answer).toMatchObject({ status: 200, json: { vapidPublicKey: VAPID_PUBLIC_KEY } });
    const point = Buffer.from(VAPID_PUBLIC_KEY, 'base64url');
    expect([point.length, point[0]]).toEqual([65, 4]);
    expect(answer.text).toBe(`{"vapidPublicKey":"${VAPID_PUBLIC_KEY}"}\n`);
  });

  it('does not exist for an unknown instance or one without web push', async () => {
    for (const instance of [UNKNOWN, 'x', '%00']) {
      expect(await ask(server, 'GET', path(instance))).toMatchObject(NO_INSTANCE);
    }
    expect(await ask(server, 'GET', path(NEIGHBOUR.id))).toMatchObject(
      refusal(404, 'Not found', /web push/),
    );
    expect(await ask(server, 'GET', path(''))).toMatchObject(refusal(400, 'Incomplete Request'));
  });
});

describe('a browser registers', () => {
  it('with and without metadata', async () => {
    for (const metadata of [undefined, null, {}, { sdkVersion: null, other: 7 }]) {
      expect((await register(registration('web', { metadata }))).status).toBe(200);
    }
  });

  it.each([
    ['standard base64 with padding', (text: string) => btoa(text)],
    ['standard base64 without padding', (text: string) => btoa(text).replace(/=+$/, '')],
    ['URL-safe base64', (text: string) => Buffer.from(text).toString('base64url')],
  ])('with %s', async (_, encode) => {
    for (const rest of ['', '?', '??>>', '~~~']) {
      const endpoint = `${anyEndpoint()}${rest}`;
      expect((await withToken(encode(JSON.stringify(subscription(endpoint))))).status).toBe(200);
    }
  });

  it('with keys in either base64', async () => {
    const p256dh = Buffer.from(newP256Pair().publicText, 'base64url').toString('base64');
    expect((await withKeys({ p256dh, auth: 'BTBZMqHH6r4Tts7J/aSIgg==' })).status).toBe(200);
  });

  it('with other fields of a subscription', async () => {
    const endpoint = anyEndpoint();
    for (const others of [
      { expirationTime: 1_900_000_000_000 },
      { expirationTime: undefined, x: [7] },
    ]) {
      expect((await subscribed({ ...subscription(endpoint), ...others })).status).toBe(200);
    }
  });
});

describe('the token of a browser', () => {
  it.each<[unknown]>([
    [undefined],
    [null],
    [7],
    [{}],
    [[]],
    [subscription('https://fcm.googleapis.com/fcm/send/x')],
    [''],
    ['x'],
    ['=='],
    ['%7B%7D'],
    ['{}'],
    [JSON.stringify(subscription('https://fcm.googleapis.com/fcm/send/x'))],
    [btoa('')],
    [btoa('null')],
    [btoa('[]')],
    [btoa('7')],
    [btoa('{}')],
    [btoa('{"endpoint":')],
    [`${btoa(JSON.stringify(subscription('https://fcm.googleapis.com/fcm/send/x')))}\n`],
    [` ${btoa(JSON.stringify(subscription('https://fcm.googleapis.com/fcm/send/x')))}`],
    [btoa(btoa(JSON.stringify(subscription('https://fcm.googleapis.com/fcm/send/x'))))],
    [Buffer.from([0x7b, 0xff, 0x7d]).toString('base64')],
  ])('is base64 of a subscription, not %j', async (token) => {
    expect(await withToken(token)).toMatchObject(WRONG_TOKEN);
  });

  it.each<[object]>([
    [{ p256dh: undefined }],
    [{ p256dh: null }],
    [{ p256dh: '' }],
    [{ p256dh: 7 }],
    [{ p256dh: 'x'.repeat(87) }],
    // Not on the curve.
    [{ p256dh: Buffer.from([4, ...Array(64).fill(1)]).toString('base64url') }],
    [{ p256dh: Buffer.alloc(65).toString('base64url') }],
    [{ p256dh: Buffer.from([4, ...Array(64).fill(0)]).toString('base64url') }],
    [{ p256dh: Buffer.from([4, ...Array(64).fill(255)]).toString('base64url') }],
    // Compressed, too short, too long.
    [{ p256dh: changed((point) => [2, ...point.subarray(1, 33)]) }],
    [{ p256dh: changed((point) => [3, ...point.subarray(1)]) }],
    [{ p256dh: changed((point) => [...point.subarray(1)]) }],
    [{ p256dh: changed((point) => [...point.subarray(0, 64)]) }],
    [{ p256dh: changed((point) => [...point, 0]) }],
    [{ p256dh: changed((point) => [...point.subarray(0, 64), (point[64] ?? 0) ^ 1]) }],
    [{ p256dh: `${newP256Pair().publicText}!` }],
    [{ auth: undefined }],
    [{ auth: null }],
    [{ auth: '' }],
    [{ auth: 16 }],
    [{ auth: Buffer.alloc(15).toString('base64url') }],
    [{ auth: Buffer.alloc(17).toString('base64url') }],
    [{ auth: 'BTBZMqHH6r4Tts7J_aSIg!' }],
  ])('has valid keys, not %j', async (keys) => {
    expect(await withKeys(keys)).toMatchObject(WRONG_TOKEN);
  });

  it('has keys', async () => {
    for (const keys of [undefined, null, 'x', []]) {
      expect(await subscribed({ endpoint: anyEndpoint(), keys })).toMatchObject(WRONG_TOKEN);
    }
  });

  function changed(change: (point: Buffer) => number[]): string {
    const point = Buffer.from(newP256Pair().publicText, 'base64url');
    return Buffer.from(change(point)).toString('base64url');
  }
});

/** Push protocol, §8.3.5 and §8.3.6: this server will send requests to these addresses. */
describe('the endpoint of a browser', () => {
  it.each([
    'https://fcm.googleapis.com/fcm/send/',
    'https://android.googleapis.com/gcm/send/',
    'https://jmt17.google.com/fcm/send/',
    'https://updates.push.services.mozilla.com/wpush/v2/',
    'https://web.push.apple.com/',
    'https://api.push.apple.com/',
    'https://wns2-par02p.notify.windows.com/w/?token=',
    'https://graph.facebook.com/rl_push_send/',
    'https://fcm.googleapis.com:443/fcm/send/',
    'https://FCM.GoogleAPIs.com/fcm/send/',
  ])('may be at a push service of a browser: %s', async (start) => {
    expect((await at(`${start}${randomUUID()}`)).status).toBe(200);
  });

  it.each<[unknown]>([
    [undefined],
    [null],
    [7],
    [''],
    ['x'],
    ['/fcm/send/x'],
    ['//fcm.googleapis.com/x'],
    ['http://fcm.googleapis.com/x'],
    ['ftp://fcm.googleapis.com/x'],
    ['file:///etc/passwd'],
    ['gopher://fcm.googleapis.com/x'],
    ['data:text/plain,x'],
    ['javascript:alert(1)'],
    ['https://'],
    ['https://fcm.googleapis.com:8443/x'],
    ['https://fcm.googleapis.com:80/x'],
    ['https://fcm.googleapis.com:0/x'],
    ['https://fcm.googleapis.com./x'],
    ['https://user@fcm.googleapis.com/x'],
    ['https://user:password@fcm.googleapis.com/x'],
    ['https://:@fcm.googleapis.com/x#y'],
    ['https://fcm.googleapis.com/x#y'],
    ['https://fcm.googleapis.com/x#'],
    ['https://fcm.googleapis.com@example.org/x'],
    ['https://fcm.googleapis.com%40example.org/x'],
    ['https://fcm.googleapis.com%2eexample.org/x'],
    ['https://example.org\\@fcm.googleapis.com/x'],
    ['https://example.org#@fcm.googleapis.com/x'],
    ['https://example.org/fcm.googleapis.com'],
    ['https://fcm.googleapis.com.example.org/x'],
    ['https://xfcm.googleapis.com/x'],
    ['https://x.fcm.googleapis.com/x'],
    ['https://googleapis.com/x'],
    ['https://push.apple.com/x'],
    ['https://xpush.apple.com/x'],
    ['https://push.apple.com.example.org/x'],
    ['https://notify.windows.com/x'],
    ['https://localhost/x'],
    ['https://localhost.localdomain/x'],
    ['https://127.0.0.1/x'],
    ['https://127.1/x'],
    ['https://2130706433/x'],
    ['https://0x7f000001/x'],
    ['https://0177.0.0.1/x'],
    ['https://0/x'],
    ['https://[::1]/x'],
    ['https://[::ffff:127.0.0.1]/x'],
    ['https://10.0.0.1/x'],
    ['https://192.168.0.1/x'],
    ['https://169.254.169.254/latest/meta-data'],
    ['https://metadata.google.internal/x'],
    ['https://142.250.185.74/x'],
    [' https://example.org/x'],
    ['https://fcm.googleapis.com:99999/x'],
    [['https://fcm.googleapis.com/x']],
    [{ href: 'https://fcm.googleapis.com/x' }],
  ])('may not be anywhere else: %j', async (endpoint) => {
    const answer = await at(endpoint);
    expect(answer).toMatchObject(WRONG_TOKEN);
    // The refusal does not repeat it.
    expect(answer.text).not.toContain('example.org');
  });

  it('has at most 2048 characters after URL encoding', async () => {
    const start = `https://fcm.googleapis.com/${randomUUID()}`;
    expect((await at(start.padEnd(2048, 'x'))).status).toBe(200);
    expect(await at(start.padEnd(2049, 'x'))).toMatchObject(WRONG_TOKEN);
    expect(await at(start + 'é'.repeat(500))).toMatchObject(WRONG_TOKEN);
  });

  it('may be on this machine, with http and any port, if the configuration allows it', async () => {
    const rules = (web: object) => ({
      vapid: vapid(),
      ...web,
    });
    await using own = await startPush({
      instance: {
        web: rules({
          allowedHosts: ['localhost', '*.push.test', 'strict.test:8443'],
          allowPrivateAddresses: true,
        }),
      },
      neighbour: { web: rules({ allowedHosts: ['push.test', 'strict.test:8443'] }) },
    });
    const status = async (endpoint: string, instance: string = INSTANCE.id) => {
      const body = { token: btoa(JSON.stringify(subscription(endpoint))) };
      return (await ask(own, 'POST', device('web', instance), { body })).status;
    };
    for (const [endpoint, here, there] of [
      ['http://localhost:3000/x', 200, 400],
      ['https://localhost/x', 200, 400],
      ['http://127.0.0.1:3000/x', 400, 400],
      ['http://a.push.test/x', 200, 400],
      ['https://a.b.push.test:99/x', 200, 400],
      ['https://push.test/x', 400, 200],
      ['https://push.test:99/x', 400, 400],
      ['http://push.test/x', 400, 400],
      ['https://strict.test:8443/x', 200, 200],
      ['https://strict.test/x', 400, 400],
      ['https://fcm.googleapis.com/x', 400, 400],
    ] as const) {
      expect([endpoint, await status(endpoint), await status(endpoint, NEIGHBOUR.id)]).toEqual([
        endpoint,
        here,
        there,
      ]);
    }
  });

  function vapid(): object {
    const { publicText: publicKey, privateText: privateKey } = newP256Pair();
    return { publicKey, privateKey, subject: 'mailto:ops@example.org' };
  }
});

describe('a browser that registers again', () => {
  it('is recognised by its endpoint in any spelling, and is the same device if its keys are, too', async () => {
    const path = `/wpush/v2/${randomUUID()}`;
    const keys = { p256dh: newP256Pair().publicText };
    const tokenAt = (host: string, own = keys) =>
      btoa(JSON.stringify(subscription(`https://${host}${path}`, own)));
    const host = 'updates.push.services.mozilla.com';
    const first = await registered(server, 'web', { token: tokenAt(host) });
    for (const same of [host, host.toUpperCase(), `${host}:443`]) {
      expect(await registered(server, 'web', { token: tokenAt(same) })).toBe(first);
    }
    await expectEmpty(ask(server, 'POST', device(`web/${first}/interests/shop`)));
    // Whoever knows the endpoint alone does not take over the device.
    const stranger = { ...keys, auth: randomBytes(16).toString('base64url') };
    const second = await registered(server, 'web', { token: tokenAt(host, stranger) });
    expect(await shownDevice(server, first)).toBeUndefined();
    const { json } = await ask(server, 'GET', device(`web/${second}/interests`));
    expect(json).toMatchObject({ interests: [] });
  });
});

describe('another subscription of a browser', () => {
  const setToken = (id: string, token: unknown, instance: string = INSTANCE.id) =>
    ask(server, 'PUT', device(`web/${id}/token`, instance), {
      headers: JSON_HEADERS,
      body: { token },
    });
  const anyToken = (endpoint = anyEndpoint(), keys: object = {}) =>
    btoa(JSON.stringify(subscription(endpoint, keys)));

  it('belongs to the same device, which keeps its interests', async () => {
    const id = await registered(server, 'web');
    await expectEmpty(ask(server, 'POST', device(`web/${id}/interests/shop`)));
    const token = anyToken();
    for (const _ of [1, 2]) await expectEmpty(setToken(id, token));
    expect(await registered(server, 'web', { token })).toBe(id);
    const { json } = await ask(server, 'GET', device(`web/${id}/interests`));
    expect(json).toMatchObject({ interests: ['shop'] });
  });

  it('may be the same endpoint with other keys', async () => {
    const endpoint = anyEndpoint();
    const id = await registered(server, 'web', { token: anyToken(endpoint) });
    const token = anyToken(endpoint, { p256dh: newP256Pair().publicText });
    await expectEmpty(setToken(id, token));
    expect(await registered(server, 'web', { token })).toBe(id);
  });

  it('replaces the device that had it', async () => {
    const token = anyToken();
    const before = await registered(server, 'web', { token });
    const id = await registered(server, 'web');
    await expectEmpty(setToken(id, token));
    expect(await shownDevice(server, before)).toBeUndefined();
    expect(await shownDevice(server, id)).toBeDefined();
  });

  it('is checked as at the registration', async () => {
    const id = await registered(server, 'web');
    for (const token of [
      undefined,
      7,
      'x',
      anyToken('https://example.org/x'),
      anyToken(anyEndpoint(), { auth: 'x' }),
    ]) {
      expect(await setToken(id, token)).toMatchObject(WRONG_TOKEN);
    }
    const target = device(`web/${id}/token`);
    expect(await ask(server, 'PUT', target, { body: '[]' })).toMatchObject(
      refusal(400, 'Bad Request'),
    );
  });

  it('is refused for an unknown device, and in an instance without web push', async () => {
    for (const id of [`web-${UNKNOWN}`, `fcm-${UNKNOWN}`, 'x', '%00']) {
      expect(await setToken(id, anyToken())).toMatchObject(NO_DEVICE);
    }
    const id = await registered(server, 'web');
    expect(await setToken(id, anyToken(), NEIGHBOUR.id)).toMatchObject(
      refusal(400, 'Bad Request', /web push/),
    );
    expect(await setToken(id, anyToken(), UNKNOWN)).toMatchObject(NO_INSTANCE);
  });
});

describe('what a browser cannot do', () => {
  it('is to register with an instance that has no web push', async () => {
    const request = (instance: string) =>
      ask(server, 'POST', device('web', instance), { body: registration('web') });
    expect(await request(NEIGHBOUR.id)).toMatchObject(refusal(400, 'Bad Request', /web push/));
    expect(await request('')).toMatchObject(refusal(400, 'Incomplete Request'));
  });

  it('is to send more than 16 KiB', async () => {
    const body = JSON.stringify(registration('web'));
    expect((await register(body + ' '.repeat(16_384 - body.length))).status).toBe(200);
    expect(await register(body + ' '.repeat(16_385 - body.length))).toMatchObject(
      refusal(400, 'Bad Request', /16 KiB/),
    );
  });

  it.each([
    device('safari'),
    `/device_api/v1/instances/${INSTANCE.id}/safari-website-push-id`,
    `/safari_api/v1/instances/${INSTANCE.id}/v2/pushPackages/web.org.example`,
  ])('is to use the beta for Safari: %s', async (target) => {
    for (const method of ['GET', 'POST']) {
      expect(await ask(server, method, target)).toMatchObject(NO_PATH);
    }
  });
});

describe('the data of a browser', () => {
  it('is its id, its user and its metadata', async () => {
    const id = await registered(server, 'web');
    const answer = await ask(server, 'GET', device(`web/${id}`));
    expect(answer.text).toBe(`{"id":"${id}","userId":null,"metadata":{"sdkVersion":"2.1.0"}}\n`);
  });
});
