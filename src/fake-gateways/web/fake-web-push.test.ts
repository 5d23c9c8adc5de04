import { afterEach, describe, expect, it } from 'bun:test';
import { encrypt, plaintextOf } from '../../gateways/web/encryption.ts';
import { VapidSigner } from '../../gateways/web/vapid.ts';
import { newP256Pair } from '../p256.ts';
import type { FakeSubscription } from './fake-push-service.ts';
import { type FakeWebPush, startFakeWebPush } from './fake-web-push.ts';

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

const pair = newP256Pair();
const signer = new VapidSigner({
  publicKey: pair.publicText,
  privateKey: pair.privateText,
  subject: 'mailto:ops@example.test',
});

let nowMs = Date.now();

function start(): FakeWebPush {
  return stops.use(startFakeWebPush({ nowMs: () => nowMs }));
}

function post(
  { origin }: FakeWebPush,
  { endpoint, keys }: FakeSubscription,
  text: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = encrypt(plaintextOf(text), {
    p256dh: Buffer.from(keys.p256dh, 'base64url'),
    auth: Buffer.from(keys.auth, 'base64url'),
  });
  const url = new URL(endpoint);
  // The fakes of the vendors' hosts listen here as well.
  url.hostname = '127.0.0.1';
  return fetch(url, {
    method: 'POST',
    headers: {
      authorization: signer.sign(origin, nowMs),
      'content-encoding': 'aes128gcm',
      ttl: '60',
      ...headers,
    },
    body,
  });
}

describe('a fake push service', () => {
  it('subscribes browsers, and decrypts what is posted to them', async () => {
    const service = start();
    const subscription = service.subscribe(pair.publicText);
    const { endpoint, keys, token } = subscription;
    expect(JSON.parse(atob(token))).toEqual({ endpoint, expirationTime: null, keys });

    const posted = await post(service, subscription, 'Hi!');
    expect(posted.status).toBe(201);
    expect(posted.headers.get('ttl')).toBe('60');
    expect(posted.headers.get('location')).toStartWith(`${service.origin}/m/`);
    expect(service.arrivals.list()).toMatchObject([
      { endpoint, status: 201, text: 'Hi!', fault: undefined },
    ]);
  });

  it('keeps a message until it expires, and one of each topic', async () => {
    const service = start();
    const subscription = service.subscribe(pair.publicText);
    await post(service, subscription, 'first', { topic: 'a' });
    await post(service, subscription, 'second', { topic: 'b' });
    await post(service, subscription, 'first again', { topic: 'a' });
    await post(service, subscription, 'at once or never', { ttl: '0' });
    expect(service.collect(subscription.endpoint)).toEqual(['second', 'first again']);
    expect(service.collect(subscription.endpoint)).toEqual([]);

    await post(service, subscription, 'late');
    nowMs += 60_000;
    expect(service.collect(subscription.endpoint)).toEqual([]);
  });

  it('refuses with Mozilla’s error numbers', async () => {
    const service = start();
    const subscription = service.subscribe(pair.publicText);
    const stranger = service.subscribe(newP256Pair().publicText);
    const answers = [
      await post(service, stranger, ''),
      await post(service, subscription, '', { ttl: 'soon' }),
      await post(service, subscription, '', { topic: 'not base64!' }),
      await post(service, subscription, '', { urgency: 'soon' }),
      await post(service, { ...subscription, endpoint: `${service.origin}/nowhere` }, ''),
    ];
    service.unsubscribe(subscription.endpoint);
    answers.push(await post(service, subscription, ''));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    const errnos = texts.map((text) => JSON.parse(text));
    expect(errnos.map(({ code, errno }) => [code, errno])).toEqual([
      [401, 109],
      [400, 112],
      [400, 113],
      [400, undefined],
      [404, 102],
      [410, 106],
    ]);
  });

  it('refuses a topic that Apple cannot decode, as Apple does', async () => {
    const service = stops.use(startFakeWebPush({ host: 'web.push.apple.com' }));
    const subscription = service.subscribe(pair.publicText);
    for (const [topic, status] of [
      ['spike', 400],
      ['chat', 201],
    ] as const) {
      const answer = await post(service, subscription, '', { topic });
      expect(answer.status).toBe(status);
      if (status === 400) expect(await answer.json()).toEqual({ reason: 'BadWebPushTopic' });
    }
  });

  it('refuses a cache policy that contradicts the time to live, as Windows does', async () => {
    const service = stops.use(startFakeWebPush({ host: 'db5.notify.windows.com' }));
    const subscription = service.subscribe(pair.publicText);
    for (const [ttl, policy, status] of [
      ['0', undefined, 400],
      ['0', 'cache', 400],
      ['0', 'no-cache', 201],
      ['60', undefined, 201],
      ['60', 'cache', 201],
      ['60', 'no-cache', 400],
    ] as const) {
      const headers = { ttl, ...(policy && { 'x-wns-cache-policy': policy }) };
      const answer = await post(service, subscription, '', headers);
      expect([ttl, policy, answer.status]).toEqual([ttl, policy, status]);
      if (status === 201) continue;
      expect(answer.headers.get('x-wns-error-description')).toBe(
        'Ttl value conflicts with X-WNS-Cache-Policy.',
      );
      expect(await answer.text()).toBe('');
    }
  });

  it('accepts what its browser cannot decrypt, and logs that', async () => {
    const service = start();
    const [one, other] = [service.subscribe(pair.publicText), service.subscribe(pair.publicText)];
    const answer = await post(service, { ...one, keys: other.keys }, 'Hi!');
    expect(answer.status).toBe(201);
    expect(service.arrivals.list()).toMatchObject([
      { endpoint: one.endpoint, text: undefined, fault: 'it is encrypted for other keys' },
    ]);
  });

  it('follows its script', async () => {
    const service = start();
    const subscription = service.subscribe(pair.publicText);
    service.script.forToken(subscription.endpoint, { act: 'reset' }, 1);
    service.script.forNext(1, { act: 'cut' });
    service.script.forNext(1, { act: 'answer', status: 503, fields: { 'retry-after': '7' } });
    for (const text of ['taken', 'not taken']) {
      const answer = post(service, subscription, text).catch((error: unknown) => error);
      expect(await answer).toMatchObject({ code: 'ECONNRESET' });
    }
    const answer = await post(service, subscription, 'refused');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '7']);
    expect(service.collect(subscription.endpoint)).toEqual(['taken']);
    expect(service.arrivals.list().map(({ status, fault }) => [status, fault])).toEqual([
      [undefined, undefined],
      [undefined, 'as scripted'],
      [503, 'as scripted'],
    ]);
  });
});
