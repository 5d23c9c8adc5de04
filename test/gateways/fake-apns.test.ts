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

  /** The answer to a notification of a push type, for a token of its own. */
  const typed = (
    type: string,
    { topic = 'com.example.app', body = '{"aps":{}}', token = 'cd'.repeat(32), priority = '' } = {},
  ) =>
    ask(
      {
        ...good,
        'apns-topic': topic,
        'apns-push-type': type,
        ...(priority !== '' && { 'apns-priority': priority }),
      },
      `/3/device/${token}`,
      body,
    );
  let tokens = 0;
  const newToken = () => `e${(++tokens).toString(16).padStart(63, '0')}`;

  it.each<[type: string, suffix: string, priorities: readonly string[]]>([
    ['alert', '', ['10', '5', '1']],
    ['background', '', ['5', '1']],
    ['liveactivity', '.push-type.liveactivity', ['10', '5']],
    ['voip', '.voip', ['10']],
    ['pushtotalk', '.voip-ptt', ['10']],
    ['widgets', '.push-type.widgets', ['10', '5', '1']],
    ['controls', '.push-type.controls', ['10', '5', '1']],
    ['complication', '.complication', ['10', '5', '1']],
    ['location', '.location-query', ['10', '5']],
    ['fileprovider', '.pushkit.fileprovider', ['10', '5', '1']],
  ])(
    'wants the topic of %s to end in "%s", and the priorities %j',
    async (type, suffix, allowed) => {
      const body = '{"aps":{"event":"end","timestamp":1}}';
      const right = { topic: `com.example.app${suffix}`, token: newToken(), body };
      expect(await typed(type, right)).toBe('200');
      const wrong = suffix === '' ? 'com.example.app.voip' : 'com.example.app';
      expect(await typed(type, { ...right, topic: wrong })).toBe('400 TopicDisallowed');
      for (const priority of ['10', '5', '1', '7']) {
        expect(await typed(type, { ...right, priority })).toBe(
          allowed.includes(priority) ? '200' : '400 BadPriority',
        );
      }
      const limit = type === 'voip' ? 5120 : 4096;
      const filled = (bytes: number) => body.padEnd(bytes, ' ');
      expect(await typed(type, { ...right, body: filled(limit) })).toBe('200');
      expect(await typed(type, { ...right, body: filled(limit + 1) })).toBe('413 PayloadTooLarge');
    },
  );

  it('knows a token under the topic that it was used with first', async () => {
    const token = newToken();
    expect(await typed('voip', { topic: 'com.example.app.voip', token })).toBe('200');
    expect(await typed('alert', { token })).toBe('400 DeviceTokenNotForTopic');
    expect(await typed('voip', { topic: 'com.example.app.voip', token })).toBe('200');
  });

  it.each<[what: string, aps: object | undefined]>([
    ['no aps', undefined],
    ['no event', { timestamp: 1, 'content-state': {} }],
    ['another event', { event: 'go', timestamp: 1, 'content-state': {} }],
    ['no timestamp', { event: 'update', 'content-state': {} }],
    ['no state', { event: 'update', timestamp: 1 }],
    [
      'a start without attributes',
      { event: 'start', timestamp: 1, 'content-state': {}, alert: {} },
    ],
  ])('refuses a live activity with %s', async (_, aps) => {
    const topic = 'com.example.app.push-type.liveactivity';
    const body = JSON.stringify({ aps });
    expect(await typed('liveactivity', { topic, token: newToken(), body })).toBe(
      '400 BadRequestPayload',
    );
  });

  it('has broadcast channels, and refuses what Apple refuses', async () => {
    const { authorization } = good;
    const path = '/1/apps/com.example.app/channels';
    const to = '/4/broadcasts/apps/com.example.app';
    const wanted = (policy: number, type = 'LiveActivity') =>
      JSON.stringify({ 'message-storage-policy': policy, 'push-type': type });
    expect(await ask({}, path, wanted(0))).toBe('403 MissingProviderToken');
    expect(await ask({ authorization }, path, wanted(2))).toBe('400 BadRequestPayload');
    expect(await ask({ authorization }, path, wanted(0, 'alert'))).toBe('400 InvalidPushType');

    const made = async (policy: number) => {
      const result = await origin.send({
        path,
        fields: [plainField('authorization', authorization)],
        body: Buffer.from(wanted(policy)),
      });
      if (result.result !== 'answered') throw new Error(result.why);
      expect(result.status).toBe(201);
      return result.fields[result.fields.indexOf('apns-channel-id') + 1] ?? '';
    };
    const [plain, latest] = [await made(0), await made(1)];
    const end = '{"aps":{"event":"end","timestamp":1}}';
    const sent = (channel: string, more: object = {}, body = end, app = to) => {
      const fields = { 'apns-push-type': 'liveactivity', 'apns-expiration': '0', ...more };
      return ask({ authorization, 'apns-channel-id': channel, ...fields }, app, body);
    };
    expect(await sent(plain)).toBe('200');
    expect(await sent(plain, { 'apns-expiration': '9' })).toBe('400 BadExpirationDate');
    expect(await sent(latest, { 'apns-expiration': '9' })).toBe('200');
    expect(await sent(plain, { 'apns-priority': '1' })).toBe('400 BadPriority');
    expect(await sent(plain, { 'apns-push-type': 'alert' })).toBe('400 InvalidPushType');
    expect(await sent(plain, {}, '{"aps":{}}')).toBe('400 BadRequestPayload');
    expect(await sent(plain, {}, end.padEnd(5121))).toBe('413 PayloadTooLarge');
    expect(await sent('AAAA')).toBe('400 BadChannelId');
    const elsewhere = to.replace('example', 'other');
    expect(await sent(plain, {}, end, elsewhere)).toBe('400 ChannelNotRegistered');

    const removed = await origin.send({
      method: 'DELETE',
      path,
      fields: [plainField('authorization', authorization), plainField('apns-channel-id', plain)],
      body: Buffer.alloc(0),
    });
    expect(removed).toMatchObject({ result: 'answered', status: 204 });
    expect(await sent(plain)).toBe('400 ChannelNotRegistered');
    expect(await sent(latest)).toBe('200');
  });
});
