import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type FakeApns, startFakeApns } from '../../src/fake-gateways/apns/fake-apns.ts';
import { signJwt } from '../../src/gateways/jwt.ts';
import { Http2Client } from '../../src/outgoing/http2/client.ts';
import { findLoopback } from '../../src/outgoing/http2/connecting/addresses.fixture.ts';
import { plainField } from '../../src/outgoing/http2/hpack/header-field.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const NOW_MS = 1_800_000_000_000;
const NOW_SECONDS = NOW_MS / 1000;

interface Who {
  readonly kid?: string;
  readonly iss?: string;
  readonly iat?: number;
  readonly key?: KeyObject;
}

function bearer({ kid = 'KEY', iss = 'TEAM', iat = NOW_SECONDS, key = privateKey }: Who = {}) {
  return `bearer ${signJwt({ kid }, { iss, iat }, key)}`;
}

let fake: FakeApns;
let origin: Http2Client;
beforeAll(async () => {
  fake = await startFakeApns({
    certificate: null,
    keys: [{ teamId: 'TEAM', keyId: 'KEY', publicKey }],
    nowMs: () => NOW_MS,
  });
  origin = new Http2Client({
    origin: fake.origin,
    findAddresses: findLoopback,
    connectionsMax: 1,
    streamsPerConnectionMax: 100,
    waitingMax: 100,
    requestTimeoutMs: 5000,
  });
});
afterAll(async () => {
  await origin[Symbol.asyncDispose]();
  await fake[Symbol.asyncDispose]();
});

const good = { authorization: bearer(), 'apns-topic': 'com.example.app' };

/** The status and reason of the answer to a notification. */
async function ask(
  fields: Readonly<Record<string, string>>,
  path = `/3/device/${'ab'.repeat(32)}`,
  body = '{"aps":{}}',
): Promise<string> {
  const result = await origin.send({
    path,
    fields: Object.entries(fields).map(([name, value]) => plainField(name, value)),
    body: Buffer.from(body),
  });
  if (result.result !== 'answered') return `${result.result} ${result.why}`;
  const text = result.body.toString();
  return `${result.status}${text === '' ? '' : ` ${JSON.parse(text).reason}`}`;
}

describe('the fake of Apple', () => {
  it('accepts a valid notification, also without TLS', async () => {
    expect(await ask(good)).toBe('200');
    const all = {
      ...good,
      'apns-push-type': 'background',
      'apns-priority': '5',
      'apns-expiration': '0',
      'apns-collapse-id': 'x'.repeat(64),
    };
    expect(await ask(all)).toBe('200');
    expect(fake.arrivals.list().at(-1)).toMatchObject({
      token: 'ab'.repeat(32),
      payload: '{"aps":{}}',
      status: 200,
      fields: { 'apns-priority': '5' },
    });
    expect(JSON.stringify(fake.arrivals.list())).not.toContain('bearer');
  });

  it.each([
    ['403 MissingProviderToken', { 'apns-topic': 'a' }],
    ['403 InvalidProviderToken', { ...good, authorization: 'bearer abc' }],
    ['403 InvalidProviderToken', { ...good, authorization: bearer({ key: stranger }) }],
    ['403 InvalidProviderToken', { ...good, authorization: bearer({ kid: 'OTHER' }) }],
    ['403 InvalidProviderToken', { ...good, authorization: bearer({ iss: 'OTHER' }) }],
    ['403 InvalidProviderToken', { ...good, authorization: bearer({ iat: NOW_SECONDS + 120 }) }],
    ['403 ExpiredProviderToken', { ...good, authorization: bearer({ iat: NOW_SECONDS - 3600 }) }],
    [
      '429 TooManyProviderTokenUpdates',
      { ...good, authorization: bearer({ iat: NOW_SECONDS + 10 }) },
    ],
    ['400 MissingTopic', { authorization: good.authorization }],
    ['400 InvalidPushType', { ...good, 'apns-push-type': 'loud' }],
    ['400 BadPriority', { ...good, 'apns-priority': '7' }],
    ['400 BadPriority', { ...good, 'apns-push-type': 'background', 'apns-priority': '10' }],
    ['400 BadExpirationDate', { ...good, 'apns-expiration': 'tomorrow' }],
    ['400 BadCollapseId', { ...good, 'apns-collapse-id': 'x'.repeat(65) }],
  ] as const)('answers %s', async (answer, fields) => {
    await ask(good);
    expect(await ask(fields)).toBe(answer);
  });

  it('refuses a malformed token, and an empty or too large payload', async () => {
    expect(await ask(good, '/3/device/xyz')).toBe('400 BadDeviceToken');
    expect(await ask(good, '/4/device/abab')).toBe('404 BadPath');
    expect(await ask(good, undefined, '')).toBe('400 PayloadEmpty');
    expect(await ask(good, undefined, 'x'.repeat(4097))).toBe('413 PayloadTooLarge');
  });
});
