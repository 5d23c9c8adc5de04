import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  device,
  expectEmpty,
  fieldRefusal,
  INSTANCE,
  JSON_HEADERS,
  refusal,
  registered,
  registration,
  shownDevice,
  startPush,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const register = (body: unknown, headers: Readonly<Record<string, string>> = JSON_HEADERS) =>
  ask(server, 'POST', device('apns'), { headers, body });
const changed = (change: object) => register(registration('apns', change));
const anyToken = () => randomUUID().replaceAll('-', '').repeat(2);

describe('an Apple device registers', () => {
  it('for an app whose name the SDK does not know', async () => {
    expect((await changed({ bundleIdentifier: 'missing-bundle-id' })).status).toBe(200);
  });

  it('with the metadata of iOS and of macOS', async () => {
    for (const metadata of [
      { sdkVersion: '4.0.0', iosVersion: '19.1' },
      { sdkVersion: '4.0.0', macosVersion: '16.0' },
      { sdkVersion: '4.0.0' },
      {},
    ]) {
      const id = await registered(server, 'apns', { metadata });
      expect(await shownDevice(server, id)).toEqual({ id, userId: null, metadata } as never);
    }
  });
});

describe('the token of an Apple device', () => {
  it.each([
    anyToken(),
    anyToken().toUpperCase(),
    // Apple says that they may grow.
    randomUUID().replaceAll('-', '').repeat(5),
    randomUUID().replaceAll('-', '').slice(0, 16),
  ])('is hex: %s', async (token) => {
    expect((await changed({ token })).status).toBe(200);
  });

  it.each<[unknown]>([
    [undefined],
    [null],
    [7],
    [{}],
    [[]],
    [''],
    ['ab'],
    ['a'.repeat(63)],
    ['g'.repeat(64)],
    ['0x'.repeat(32)],
    [` ${'a'.repeat(64)}`],
    [`${'a'.repeat(64)}\n`],
    [`../${'a'.repeat(64)}`],
    ['a'.repeat(402)],
    ['é'.repeat(64)],
    ['AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/=='],
  ])('is not %j', async (token) => {
    expect(await changed({ token })).toMatchObject(fieldRefusal('token', 400, 'Bad Request'));
  });
});

describe('the bundle identifier', () => {
  it.each<[unknown]>([
    [undefined],
    [null],
    [7],
    [''],
    ['x'.repeat(256)],
    ['com.example\r\napns-topic: x'],
    ['com example'],
    ['com/example'],
    ['cöm'],
    [['com.example']],
  ])('is not %j', async (bundleIdentifier) => {
    expect(await changed({ bundleIdentifier })).toMatchObject(
      fieldRefusal('bundleIdentifier', 400, 'Bad Request'),
    );
  });

  it('has 255 characters at most', async () => {
    expect((await changed({ bundleIdentifier: 'x'.repeat(255) })).status).toBe(200);
  });
});

describe('metadata', () => {
  it.each<[unknown, string]>([
    ['x', 'metadata'],
    [7, 'metadata'],
    [[], 'metadata'],
    [{ sdkVersion: 7 }, 'metadata.sdkVersion'],
    [{ sdkVersion: {} }, 'metadata.sdkVersion'],
    [{ iosVersion: 'x'.repeat(101) }, 'metadata.iosVersion'],
    [{ macosVersion: '\u0000' }, 'metadata.macosVersion'],
    [{ androidVersion: '\ud800' }, 'metadata.androidVersion'],
  ])('is not %j', async (metadata, field) => {
    expect(await changed({ metadata })).toMatchObject(fieldRefusal(field, 400, 'Bad Request'));
  });

  it('is replaced as a whole', async () => {
    const id = await registered(server, 'apns');
    const target = device(`apns/${id}/metadata`);
    const metadata = { sdkVersion: '4.0.1', macosVersion: '16.1' };
    await expectEmpty(ask(server, 'PUT', target, { headers: JSON_HEADERS, body: metadata }));
    expect(await shownDevice(server, id)).toMatchObject({ metadata });
    await expectEmpty(ask(server, 'PUT', target, { body: { sdkVersion: null } }));
    expect((await shownDevice(server, id))?.metadata).toEqual({});
  });

  it('keeps only documented fields, and no prototype', async () => {
    const id = await registered(server, 'apns');
    const body =
      '{"sdkVersion":"1","__proto__":{"iosVersion":"2"},"constructor":"x","name":"Ann\'s phone"}';
    await expectEmpty(ask(server, 'PUT', device(`apns/${id}/metadata`), { body }));
    expect((await shownDevice(server, id))?.metadata).toEqual({ sdkVersion: '1' });
  });

  it.each<[unknown]>([[''], ['[]'], ['null'], ['{'], [{ sdkVersion: 7 }], [{ iosVersion: [] }]])(
    'of a registered device is not %j',
    async (body) => {
      const id = await registered(server, 'apns');
      const target = device(`apns/${id}/metadata`);
      expect(await ask(server, 'PUT', target, { body })).toMatchObject(refusal(400, 'Bad Request'));
      expect(await shownDevice(server, id)).toMatchObject({ metadata: { sdkVersion: '4.0.0' } });
    },
  );
});

describe('an Apple device that registers again', () => {
  it('is the same device even if the case of its token differs', async () => {
    const token = anyToken();
    const first = await registered(server, 'apns', { token });
    expect(await registered(server, 'apns', { token: token.toUpperCase() })).toBe(first);
    expect(await shownDevice(server, first)).toBeDefined();
  });
});

it('a request of iOS may have the content type JSON and no body', async () => {
  const id = await registered(server, 'apns');
  const rest = `apns/${id}`;
  const request = (method: string, path: string, framing: object) =>
    ask(server, method, device(rest + path), { headers: JSON_HEADERS, ...framing });
  for (const framing of [{}, { body: '' }, { chunks: [] }]) {
    expect((await request('GET', '', framing)).status).toBe(200);
    expect((await request('GET', '/interests', framing)).status).toBe(200);
    await expectEmpty(request('POST', '/interests/shop', framing));
    await expectEmpty(request('DELETE', '/interests/shop', framing));
  }
  const key = `/device_api/v1/instances/${INSTANCE.id}/web-vapid-public-key`;
  expect((await ask(server, 'GET', key, { headers: JSON_HEADERS })).status).toBe(200);
  await expectEmpty(request('DELETE', '', { body: '' }));
});
