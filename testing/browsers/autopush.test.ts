import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { randomUUID, sign } from 'node:crypto';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { Inbox } from '../inbox.ts';
import { type Autopush, startAutopush } from './autopush.ts';

const { privateKey, publicText: KEY } = newP256Pair();

let autopush: Autopush;

beforeEach(async () => {
  autopush = await startAutopush();
});

afterEach(async () => {
  await autopush[Symbol.asyncDispose]();
});

/** As a server signs; `over` changes the claims. */
function vapid(over: object = {}, key = KEY): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const claims = { aud: autopush.origin, exp, sub: 'mailto:ops@example.org', ...over };
  const signed = `${part({ alg: 'ES256', typ: 'JWT' })}.${part(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `vapid t=${signed}.${signature.toString('base64url')}, k=${key}`;
}

type Headers = Readonly<Record<string, string | undefined>>;

/** Posts a correct message to an endpoint, changed by `over`; `undefined` leaves a header out. */
async function post(endpoint: string, over: Headers = {}, body = 'encrypted'): Promise<Response> {
  const headers: Headers = {
    ttl: '60',
    authorization: vapid(),
    'content-encoding': 'aes128gcm',
    ...over,
  };
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  return await fetch(endpoint, {
    method: 'POST',
    headers: given as [string, string][],
    body,
  });
}

interface Said {
  readonly messageType: string;
  readonly [field: string]: unknown;
}

/** A browser's end of the WebSocket. */
async function connect(uaid?: string) {
  const socket = new WebSocket(autopush.url, 'push-notification');
  const received = new Inbox<Said>('The browser');
  socket.onmessage = ({ data }) => received.put(JSON.parse(String(data)));
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  expect(socket.protocol).toBe('push-notification');
  const say = (message: object) => socket.send(JSON.stringify(message));
  say({ messageType: 'hello', use_webpush: true, broadcasts: {}, ...(uaid && { uaid }) });
  const hello = await received.next();
  expect(hello).toMatchObject({ messageType: 'hello', status: 200, use_webpush: true });
  return {
    uaid: String(hello['uaid']),
    received,
    say,
    async register(channelID: string = randomUUID()) {
      say({ messageType: 'register', channelID, key: `${KEY}=` });
      const { pushEndpoint, ...answer } = await received.next();
      expect(answer).toEqual({ messageType: 'register', channelID, status: 200 });
      return { channelID, endpoint: String(pushEndpoint) };
    },
    async leave() {
      const closed = new Promise((resolve) => {
        socket.onclose = resolve;
      });
      socket.close();
      await closed;
    },
  };
}

describe('a browser', () => {
  it('is given what is posted to its endpoint, until it acknowledges it', async () => {
    const browser = await connect();
    await autopush.waitForHello();
    const { channelID, endpoint } = await browser.register();

    const answer = await post(endpoint);

    expect([answer.status, answer.headers.get('ttl')]).toEqual([201, '60']);
    const version = answer.headers.get('location')?.split('/').at(-1);
    const notification = {
      messageType: 'notification',
      channelID,
      version,
      data: Buffer.from('encrypted').toString('base64url'),
      headers: { encoding: 'aes128gcm' },
    };
    expect(await browser.received.next()).toEqual(notification);
    expect(await autopush.pushed.next()).toMatchObject({ endpoint, status: 201 });

    await browser.leave();
    const again = await connect(browser.uaid);
    expect(again.uaid).toBe(browser.uaid);
    expect(await again.received.next()).toEqual(notification);
    again.say({ messageType: 'ack', updates: [{ channelID, version, code: 100 }] });
    expect(await autopush.acknowledged.next()).toMatchObject({ type: 'ack', version, code: 100 });

    await again.leave();
    const later = await connect(browser.uaid);
    later.say({});
    expect(await later.received.next()).toEqual({} as Said);
  });

  it('that is away finds what was meant to wait, and the last of each topic', async () => {
    const browser = await connect();
    const { endpoint } = await browser.register();
    await browser.leave();

    const versions: unknown[] = [];
    for (const headers of [{ ttl: '0' }, { topic: 'score' }, {}, { topic: 'score' }]) {
      const answer = await post(endpoint, headers);
      versions.push(answer.headers.get('location')?.split('/').at(-1));
    }

    const back = await connect(browser.uaid);
    const received = [await back.received.next(), await back.received.next()];
    expect(received.map(({ version }) => version)).toEqual(versions.slice(2));
    back.say({ messageType: 'ping' });
    expect(await back.received.next()).toEqual({ messageType: 'ping' });
  });

  it('is given a message without a body as one without data', async () => {
    const browser = await connect();
    const { channelID, endpoint } = await browser.register();
    await post(endpoint, { 'content-encoding': undefined }, '');
    expect(await browser.received.next()).toEqual({
      messageType: 'notification',
      channelID,
      version: expect.any(String),
    });
  });

  it('that says hello with an unknown id is given another', async () => {
    const { uaid } = await connect('f'.repeat(32));
    expect(uaid).toMatch(/^[0-9a-f]{32}$/);
    expect(uaid).not.toBe('f'.repeat(32));
  });

  it('gets an answer that it is unregistered, or cannot be registered', async () => {
    const browser = await connect();
    const { channelID, endpoint } = await browser.register();
    browser.say({ messageType: 'unregister', channelID, code: 200 });
    expect(await browser.received.next()).toEqual({
      messageType: 'unregister',
      channelID,
      status: 200,
    });
    const gone = await post(endpoint);
    expect([gone.status, await gone.json()]).toMatchObject([410, { code: 410, errno: 106 }]);

    autopush.refuseNextRegistrations(500);
    browser.say({ messageType: 'register', channelID, key: KEY });
    expect(await browser.received.next()).toEqual({
      messageType: 'register',
      channelID,
      status: 500,
    });
  });

  it('reports where its worker failed', async () => {
    const browser = await connect();
    browser.say({ messageType: 'nack', version: 'one', code: 301 });
    expect(await autopush.acknowledged.next()).toEqual({
      type: 'nack',
      version: 'one',
      code: 301,
    });
  });
});

describe('a post', () => {
  const refusals: readonly (readonly [string, () => Headers, number, number])[] = [
    ['no TTL', () => ({ ttl: undefined }), 400, 111],
    ['a TTL that is no number', () => ({ ttl: 'soon' }), 400, 112],
    ['no Authorization', () => ({ authorization: undefined }), 401, 109],
    ['another key', () => ({ authorization: vapid({}, `B${'A'.repeat(86)}`) }), 401, 109],
    [
      'claims that were not signed',
      () => {
        const parts = [vapid(), vapid({ sub: 'mailto:else' })].map((text) => text.split('.'));
        const [[head, , signature], [, claims]] = parts as [string[], string[]];
        return { authorization: [head, claims, signature].join('.') };
      },
      401,
      109,
    ],
    ['another audience', () => ({ authorization: vapid({ aud: 'https://else' }) }), 401, 109],
    ['a token that has ended', () => ({ authorization: vapid({ exp: 1 }) }), 401, 109],
    ['a token for ever', () => ({ authorization: vapid({ exp: 4e9 }) }), 401, 109],
    ['nobody to write to', () => ({ authorization: vapid({ sub: undefined }) }), 401, 109],
    ['an old encoding', () => ({ 'content-encoding': 'aesgcm' }), 400, 110],
    ['a topic that is too long', () => ({ topic: 'x'.repeat(33) }), 400, 113],
  ];
  for (const [what, headers, status, errno] of refusals) {
    it(`with ${what} is refused`, async () => {
      const answer = await post(autopush.newEndpoint(KEY), headers());
      expect([answer.status, await answer.json()]).toMatchObject([status, { code: status, errno }]);
    });
  }

  it('that is too large is refused', async () => {
    expect((await post(autopush.newEndpoint(KEY), {}, 'x'.repeat(4096))).status).toBe(201);
    expect((await post(autopush.newEndpoint(KEY), {}, 'x'.repeat(4097))).status).toBe(413);
  });

  it('to an endpoint that never was, or is no more, is refused', async () => {
    const endpoint = autopush.newEndpoint(KEY);
    const unknown = await post(`${endpoint}x`);
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { errno: 102 }]);
    autopush.remove(endpoint);
    expect((await post(endpoint)).status).toBe(410);
  });

  it('meets the failures that the test asked for, one after the other', async () => {
    const endpoint = autopush.newEndpoint(KEY);
    const { promise: until, resolve } = Promise.withResolvers<void>();
    autopush.failNext(
      { kind: 'answer', status: 429, headers: { 'retry-after': '7' } },
      { kind: 'reset' },
      { kind: 'slow', until },
    );

    const busy = await post(endpoint);
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '7']);
    await expect(post(endpoint)).rejects.toThrow();
    // Whichever of the two comes first is the slow one.
    const both = [post(endpoint), post(endpoint)];
    expect((await Promise.race(both)).status).toBe(201);
    resolve();
    for (const each of both) expect((await each).status).toBe(201);
    const statuses = [429, undefined, 201, 201];
    for (const status of statuses) expect((await autopush.pushed.next()).status).toBe(status);
  });
});
