import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { newP256Pair } from '../../../../src/fake-gateways/p256.ts';
import { FakePushService } from '../../../../src/fake-gateways/web/fake-push-service.ts';
import { PushRequests, requestPush } from '../../../../testing/clients/push-requests.ts';
import type { RawRequest } from '../../../../testing/clients/raw-http.ts';
import { type Fanfare, startFanfare } from '../../../../testing/servers/fanfare.ts';
import { INSTANCE, pushSettings } from '../../../../testing/servers/push-server.ts';

/** Devices that come from another service, and push services at any host. */

const SLOW_ID = INSTANCE.id.replace(/^\w/, '1');
const OTHER_ID = INSTANCE.id.replace(/^\w/, '2');
const { publicText, privateText } = newP256Pair();

let server: Fanfare;
let named = 0;

beforeAll(async () => {
  const vapid = { publicKey: publicText, privateKey: privateText, subject: 'mailto:a@example.org' };
  const instance = (id: string, more: object = {}) => ({
    id,
    secretKeys: [INSTANCE.secretKey],
    web: { vapid, allowedHosts: ['*', 'named.example.org'] },
    ...more,
  });
  server = await startFanfare({
    config: {
      push: pushSettings(
        instance(INSTANCE.id, { limits: { importRowsPerSecond: 0 } }),
        instance(SLOW_ID, { limits: { importRowsPerSecond: 1 } }),
        instance(OTHER_ID, { limits: { importRowsPerSecond: 0 } }),
      ),
    },
  });
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

const newToken = () => `phone-${++named}`;
const fcm = (more: object = {}) => ({ platform: 'fcm', token: newToken(), ...more });

function call(
  method: string,
  path: string,
  { body, id = INSTANCE.id }: { readonly body?: unknown; readonly id?: string } = {},
): RawRequest {
  return {
    method,
    target: `/customer_api/v1/instances/${id}${path}`,
    headers: {
      authorization: `Bearer ${INSTANCE.secretKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

const ask = (...given: Parameters<typeof call>) => requestPush(server, call(...given));
const bring = (devices: unknown, more: object = {}, id?: string) =>
  ask('POST', '/devices', { body: { devices, ...more }, ...(id === undefined ? {} : { id }) });

async function resultsOf(devices: readonly unknown[], more: object = {}) {
  const { status, json } = await bring(devices, more);
  expect(status).toBe(200);
  return json['results'] as readonly Record<string, unknown>[];
}

describe('a request with devices', () => {
  it('has a result for each row, in its order', async () => {
    const token = newToken();
    const devices = [
      fcm(),
      { platform: 'fcm', token: 'two words' },
      fcm({ token }),
      fcm({ token }),
    ];
    const { status, json } = await bring(devices, { import: 'first' });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      import: 'first',
      dryRun: false,
      created: 2,
      updated: 0,
      unchanged: 0,
      refused: 2,
      results: [
        { index: 0, status: 'created', id: expect.stringMatching(/^fcm-/) },
        { index: 1, status: 'refused', id: null, field: 'token' },
        { index: 2, status: 'created' },
        { index: 3, status: 'refused', field: 'token' },
      ],
    });
    // No reason repeats a token.
    expect(JSON.stringify(json)).not.toContain('two words');
    expect(JSON.stringify(json)).not.toContain(token);
  });

  it.each([
    [{ devices: [] }, '`devices`: must be an array of 1 to 1000 objects'],
    [{ devices: 'x' }, '`devices`: must be an array of 1 to 1000 objects'],
    [{}, '`devices`: must be an array of 1 to 1000 objects'],
    [
      { devices: Array.from({ length: 1_001 }, () => fcm()) },
      '`devices`: must be an array of 1 to 1000 objects',
    ],
    [{ devices: [fcm()], import: 'a b' }, '`import`: must be 1 to 64 letters, digits'],
    [{ devices: [fcm()], import: 'x'.repeat(65) }, '`import`: must be 1 to 64 letters, digits'],
    [{ devices: [fcm()], dryRun: 1 }, '`dryRun`: must be true or false'],
  ])('is refused as a whole if its frame is wrong', async (body, description) => {
    const { status, json } = await ask('POST', '/devices', { body });
    expect({ status, description: json['description'] }).toEqual({
      status: 422,
      description: expect.stringContaining(description),
    });
  });

  it.each([
    ['x', '', 'must be an object'],
    [{ token: 'a' }, 'platform', 'must be one of apns, fcm, web'],
    [
      { platform: 'apns', token: 'xx', bundleId: 'a' },
      'token',
      'must be the hex of 8 to 200 bytes',
    ],
    [{ platform: 'apns', token: 'ab'.repeat(32) }, 'bundleId', 'must be a string of 1 to 255'],
    [
      { platform: 'apns', token: 'ab'.repeat(32), bundleId: 'a', kind: 'x' },
      'kind',
      'must be one of liveactivity-start',
    ],
    [{ platform: 'web', token: { endpoint: 'http://a/' } }, 'token', 'must be an https URL'],
    [fcm({ interests: ['a b'] }), 'interests.0', 'must be 1 to 164 of the letters'],
    [fcm({ interests: 'a' }), 'interests', 'must be an array of strings'],
    [fcm({ userId: '' }), 'userId', 'is empty'],
    [fcm({ language: 'x-' }), 'language', 'must be a language tag'],
    [fcm({ timeZone: 'Mars/Olympus' }), 'timeZone', 'must be a time zone of the IANA database'],
  ])('refuses the row %j alone', async (row, field, reason) => {
    expect(await resultsOf([row, fcm()])).toMatchObject([
      { status: 'refused', field, reason: expect.stringContaining(reason) },
      { status: 'created' },
    ]);
  });

  it('takes browsers as subscriptions and as SDKs send them', async () => {
    const service = new FakePushService('https://named.example.org');
    const first = service.subscribe(publicText).token;
    const second = JSON.parse(
      Buffer.from(service.subscribe(publicText).token, 'base64').toString(),
    );
    expect(await resultsOf([{ platform: 'web', token: first }])).toMatchObject([
      { status: 'created' },
    ]);
    expect(await resultsOf([{ platform: 'web', token: second }])).toMatchObject([
      { status: 'created' },
    ]);
  });

  it('needs a secret key, and is limited in rate by its rows', async () => {
    const wrong = call('POST', '/devices', { body: { devices: [fcm()] } });
    const headers = { ...wrong.headers, authorization: 'Bearer X' };
    expect((await requestPush(server, { ...wrong, headers })).status).toBe(401);
    expect((await bring([fcm(), fcm(), fcm()], {}, SLOW_ID)).status).toBe(200);
    const limited = await bring([fcm()], {}, SLOW_ID);
    expect(limited.status).toBe(429);
    expect(Number(limited.retryAfter)).toBeGreaterThan(1);
  });
});

describe('an imported device', () => {
  it('keeps its interests when an SDK registers it, and loses its user', async () => {
    const token = newToken();
    const [created] = await resultsOf([fcm({ token, userId: 'ann', interests: ['b', 'a'] })], {
      import: 'sdk',
    });
    const target = `/device_api/v1/instances/${INSTANCE.id}/devices/fcm`;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ token, knownPreviousClientIds: [] });
    const { json } = await requestPush(server, { method: 'POST', target, headers, body });
    expect(json).toEqual({ id: created?.['id'], initialInterestSet: ['a', 'b'] });
    const device = await requestPush(server, { method: 'GET', target: `${target}/${json['id']}` });
    expect(device.json['userId'] ?? null).toBeNull();
    expect((await ask('GET', '/imports/sdk')).json).toMatchObject({ devices: 0 });
    expect(await resultsOf([fcm({ token })])).toMatchObject([{ status: 'unchanged' }]);
  });

  it('is counted and undone by the name of its import', async () => {
    await resultsOf([fcm(), fcm()], { import: 'undone' });
    expect((await ask('GET', '/imports/undone')).json).toEqual({
      import: 'undone',
      devices: 2,
      accepted: 0,
      apns: 0,
      fcm: 2,
      web: 0,
    });
    expect((await ask('DELETE', '/imports/undone')).json).toEqual({ removed: 2, more: false });
    expect((await ask('DELETE', '/imports/undone')).json).toEqual({ removed: 0, more: false });
    expect((await ask('GET', '/imports/a%20b')).status).toBe(400);
  });

  it('is given out in the form that another instance takes', async () => {
    const row = {
      platform: 'apns',
      token: 'ab'.repeat(32),
      bundleId: 'com.example.app',
      kind: 'voip',
      userId: 'ann',
      interests: ['a'],
      language: 'pt-BR',
      timeZone: 'America/Sao_Paulo',
    };
    const browser = new FakePushService('https://named.example.org').subscribe(publicText);
    const rows = [row, { platform: 'web', token: browser.token }];
    expect((await bring(rows, {}, OTHER_ID)).json).toMatchObject({ created: 2 });
    const page = await ask('GET', '/devices?limit=1', { id: OTHER_ID });
    expect(page.json['devices']).toMatchObject([{ ...row, import: 'api' }]);
    const { json } = await ask('GET', `/devices?after=${page.json['next']}`, { id: OTHER_ID });
    expect(json['next']).toBeNull();
    const given = [...(page.json['devices'] as object[]), ...(json['devices'] as object[])];
    expect(await resultsOf(given)).toMatchObject([{ status: 'created' }, { status: 'created' }]);
  });

  it.each(['limit=0', 'limit=1001', 'after=x'])('is not given out with ?%s', async (query) => {
    expect((await ask('GET', `/devices?${query}`)).status).toBe(400);
  });
});

describe('push services at any host', () => {
  const register = async (host: string) => {
    const { token } = new FakePushService(`https://${host}`).subscribe(publicText);
    const target = `/device_api/v1/instances/${INSTANCE.id}/devices/web`;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ token });
    return await requestPush(server, { method: 'POST', target, headers, body });
  };

  it('have 100 devices of the instance each, unless they are named', async () => {
    const browsers = (host: string, count: number) =>
      Array.from({ length: count }, () => ({
        platform: 'web',
        token: new FakePushService(`https://${host}`).subscribe(publicText).token,
      }));
    expect((await bring(browsers('up.example.org', 101))).json).toMatchObject({
      created: 100,
      refused: 1,
    });
    const refused = await register('up.example.org');
    expect(refused.status).toBe(429);
    expect(refused.retryAfter).toBe('60');
    expect(refused.json['description']).toBe(
      'The instance has 100 devices at this push service already',
    );
    expect((await register('other.example.org')).status).toBe(200);
    expect((await bring(browsers('named.example.org', 101))).json).toMatchObject({ created: 101 });
    expect((await register('up.example.org:8443')).status).toBe(400);
  });
});

it('deletes an imported device as any other', async () => {
  const [created] = await resultsOf([fcm({ userId: 'zoe' })]);
  const requests = new PushRequests();
  expect((await requestPush(server, requests.deleteUser('zoe'))).status).toBe(200);
  const target = `/device_api/v1/instances/${INSTANCE.id}/devices/fcm/${created?.['id']}`;
  expect((await requestPush(server, { method: 'GET', target })).status).toBe(404);
});
