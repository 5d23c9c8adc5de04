import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type FakeGateways, startFakeGateways } from '../../../src/fake-gateways/start.ts';
import { admin } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { fanfare } from '../../cli/run-fanfare.ts';
import {
  device,
  type Instance,
  JSON_HEADERS,
  newInstance,
  registered,
  ask as requestPush,
} from '../../protocol/push/exchange.ts';

const parts = new AsyncDisposableStack();
let folder: string;
let gateways: FakeGateways;
let server: Fanfare;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fanfare-compose-'));
  [gateways, server] = await Promise.all([
    startFakeGateways({
      host: '127.0.0.1',
      ports: { control: 0, apns: 0, fcm: 0, web: 0 },
      directory: folder,
      onReceived: () => undefined,
    }),
    startFanfare({ config: { push: { host: '127.0.0.1', port: 0 } } }),
  ]);
  parts.use(gateways);
  parts.use(server);
});
afterAll(async () => {
  await parts.disposeAsync();
  rmSync(folder, { recursive: true, force: true });
});

const ask = async (method: string, path: string, body?: object) => {
  const { status, json } = await admin(server, method, path, { body });
  return { status, json: json as Record<string, unknown> };
};

/** Registers a device that has interests. */
async function deviceOf(
  instance: Instance,
  platform: 'apns' | 'fcm',
  interests: readonly string[],
  token?: string,
): Promise<void> {
  const id = await registered(instance, platform, token === undefined ? {} : { token });
  const path = device(`${platform}/${id}/interests`, instance.id);
  const set = await requestPush(instance, 'PUT', path, {
    body: { interests },
    headers: JSON_HEADERS,
  });
  expect(set.status).toBe(200);
}

/** An instance with the credentials of the fake gateways, as text. */
async function withCredentials() {
  const { privateKeyFile, ...apns } = gateways.settings.apns;
  const { serviceAccountFile, ...fcm } = gateways.settings.fcm;
  const privateKey = readFileSync(String(privateKeyFile), 'utf8');
  const serviceAccount = readFileSync(String(serviceAccountFile), 'utf8');
  const settings = { apns: { ...apns, privateKey }, fcm: { ...fcm, serviceAccount } };
  return { ...(await newInstance(server, settings)), privateKey, serviceAccount };
}

describe('a preview of a publish', () => {
  it('names every rule that it breaks, in the words of the push API', async () => {
    const { id } = await newInstance(server);
    const body = {
      interests: ['not an interest'],
      apns: { aps: { badge: -1 } },
      web: { time_to_live: 'long' },
      sendAt: 'soon',
    };
    const { status, json } = await ask('POST', `/instances/${id}/previews`, body);
    expect(status).toBe(200);
    const { faults, audience } = json as {
      faults: { field: string; rule: string }[];
      audience: null;
    };
    expect(faults.map(({ field }) => field)).toEqual([
      'interests.0',
      'apns.aps.badge',
      'web.time_to_live',
      'sendAt',
    ]);
    expect(audience).toBeNull();
    const [{ field, rule } = { field: '', rule: '' }] = faults;
    expect(await ask('POST', `/instances/${id}/publishes`, body)).toEqual({
      status: 400,
      json: { error: `${field}: ${rule}`, field },
    });
  });

  it('shows the bytes of a message that is too large', async () => {
    const { id } = await newInstance(server);
    const web = { notification: { title: 'x'.repeat(5_000) } };
    const { json } = await ask('POST', `/instances/${id}/previews`, { users: ['ann'], web });
    expect(json).toMatchObject({
      faults: [{ field: 'web', rule: expect.stringContaining('the limit is 3993') }],
      requests: [{ platform: 'web', bytesMax: 3993 }],
    });
    const [{ bytes } = { bytes: 0 }] = json['requests'] as { bytes: number }[];
    expect(bytes).toBeGreaterThan(5_000);
  });

  it('shows the request that each gateway would get, without a credential', async () => {
    const { id, privateKey } = await withCredentials();
    const { json } = await ask('POST', `/instances/${id}/previews`, {
      interests: ['a'],
      apns: { aps: { alert: 'Hi' }, collapse_id: 'score' },
      fcm: { notification: { title: 'Hi' }, time_to_live: 60 },
      web: { notification: { title: 'Hi' }, urgency: 'high', topic: 'chat-7', app_badge: 3 },
    });
    const requests = json['requests'] as {
      url: string;
      body: string;
      headers: { name: string; value: string }[];
    }[];
    expect(requests.map(({ url }) => url)).toEqual([
      `${gateways.settings.apns['origin']}/3/device/DEVICE-TOKEN`,
      `${gateways.settings.fcm['origin']}/v1/projects/PROJECT-ID/messages:send`,
      'ENDPOINT-OF-THE-BROWSER',
    ]);
    const [apns, fcm, web] = requests.map(({ body }) => JSON.parse(body));
    expect(apns).toMatchObject({ aps: { alert: 'Hi', 'content-available': 1 } });
    expect(fcm).toMatchObject({ message: { token: 'DEVICE-TOKEN', android: { ttl: '60s' } } });
    expect(web).toMatchObject({ notification: { title: 'Hi' }, app_badge: 3 });
    for (const header of [
      { name: 'urgency', value: 'high' },
      { name: 'topic', value: 'chat-7' },
    ]) {
      expect(requests[2]?.headers).toContainEqual(header);
    }
    expect(requests[0]?.headers).toContainEqual({ name: 'apns-collapse-id', value: 'score' });
    expect(JSON.stringify(json)).not.toContain(privateKey.split('\n')[1] ?? '');
  });

  it('shows the request of a push type, and counts the tokens of its kind', async () => {
    const instance = await newInstance(server);
    const interests = ['a'];
    await registered(instance, 'apns', { interests });
    await registered(instance, 'apns', { interests, kind: 'voip', token: 'cd'.repeat(32) });
    const previewed = async (apns: object) => {
      const body = { interests, apns };
      const { json } = await ask('POST', `/instances/${instance.id}/previews`, body);
      return json as {
        requests: { headers: { name: string; value: string }[]; body: string; bytesMax: number }[];
        audience: object;
      };
    };
    const { requests, audience } = await previewed({ push_type: 'voip', payload: { a: 1 } });
    expect(requests).toMatchObject([
      {
        bytesMax: 5120,
        body: '{"a":1}',
        headers: [
          { name: 'authorization' },
          { name: 'apns-topic', value: 'BUNDLE-ID-OF-THE-DEVICE.voip' },
          { name: 'apns-push-type', value: 'voip' },
          { name: 'apns-priority', value: '10' },
          { name: 'apns-expiration', value: '0' },
        ],
      },
    ]);
    expect(audience).toMatchObject({ devices: 1 });
    expect((await previewed({ push_type: 'widgets' })).audience).toMatchObject({ devices: 0 });
    expect((await previewed({ aps: { alert: 'a' } })).audience).toMatchObject({ devices: 1 });
  });

  it('shows the message for Safari beside that of other browsers, if it is another', async () => {
    const { id } = await newInstance(server);
    const body = { interests: ['a'], web: { notification: { title: 'Hi' } } };
    const requestsOf = async (declarative?: boolean) => {
      const web = { ...body.web, declarative };
      const { json } = await ask('POST', `/instances/${id}/previews`, { ...body, web });
      return json['requests'] as { only: string | null; body: string }[];
    };
    expect((await requestsOf()).map(({ only }) => only)).toEqual([null]);
    const [toAll, toSafari] = await requestsOf(true);
    expect(toAll).toMatchObject({ only: null });
    expect(toSafari).toMatchObject({ only: 'safari' });
    expect(JSON.parse(toSafari?.body ?? '')).toMatchObject({ web_push: 8030, mutable: true });

    await ask('PATCH', `/instances/${id}`, { web: { declarative: true } });
    await eventually(requestsOf, (requests) => requests.length === 2);
    expect(await requestsOf(false)).toHaveLength(1);
  });

  it('counts the devices of each platform once, whatever names they have', async () => {
    const instance = await newInstance(server);
    const { id } = instance;
    for (const platform of ['fcm', 'fcm', 'apns'] as const) {
      await deviceOf(instance, platform, ['a', 'b']);
    }
    const { json } = await ask('POST', `/instances/${id}/previews`, {
      interests: ['a', 'b'],
      fcm: {},
    });
    expect(json['audience']).toEqual({
      devices: 3,
      platforms: { apns: 1, fcm: 2, web: 0 },
      later: 0,
      quiet: 0,
      languages: [],
      overCap: 0,
      tooLate: 0,
      more: false,
    });
  });

  it('counts those over the cap, which the page of each device shows', async () => {
    const instance = await newInstance(server, { cap: { notifications: 1, hours: 24 } });
    const { id } = instance;
    const known = await registered(instance, 'fcm', { interests: ['a'] });
    const capOf = async () => {
      const { json } = await ask('GET', `/instances/${id}/devices/${known}`);
      return (json['registered'] as { cap: object }).cap;
    };
    const none = { used: 0, notifications: 1, hours: 24, endsAt: null };
    expect(await capOf()).toEqual(none);
    const shown = { interests: ['a'], fcm: { notification: { title: 'Hi' } } };
    const preview = async (more = {}) => {
      const body = { ...shown, ...more };
      const { json } = await ask('POST', `/instances/${id}/previews`, body);
      return json['audience'];
    };
    expect(await preview()).toMatchObject({ devices: 1, overCap: 0 });
    await ask('POST', `/instances/${id}/publishes`, shown);
    const cap = await eventually(capOf, (one) => !isDeepStrictEqual(one, none));
    expect(cap).toEqual({ ...none, used: 1, endsAt: expect.stringMatching(/Z$/) });
    expect(await preview()).toMatchObject({ devices: 0, overCap: 1 });
    expect(await preview({ urgent: true })).toMatchObject({ devices: 1, overCap: 0 });
    await ask('PATCH', `/instances/${id}`, { cap: null });
    await eventually(capOf, (one) => one === null);
    expect(await preview()).toMatchObject({ devices: 1, overCap: 0 });
  });
});

describe('a publish of an operator', () => {
  it('is accepted once for one idempotency key, and is known to the push API', async () => {
    const { id, secretKey } = await newInstance(server);
    const send = (title: string) =>
      ask('POST', `/instances/${id}/publishes?idempotencyKey=k`, {
        interests: ['a'],
        web: { notification: { title } },
      });
    const first = await send('Hi');
    expect(first).toEqual({ status: 200, json: { publishId: expect.stringMatching(/^pubid-/) } });
    expect(await send('Hi')).toEqual(first);
    expect(await send('Ho')).toMatchObject({ status: 400 });
    const { publishId } = first.json;
    const url = `http://127.0.0.1:${server.pushPort}/publish_api/v1/instances/${id}/publishes/${publishId}`;
    const known = await fetch(url, { headers: { authorization: `Bearer ${secretKey}` } });
    expect(known.status).toBe(200);
  });

  it('counts towards the rate of publishes of the instance', async () => {
    const { id } = await newInstance(server, { limits: { publishesPerSecond: 1 } });
    const send = () => ask('POST', `/instances/${id}/publishes`, { interests: ['a'], web: {} });
    // At once: one after the other they may take a second each on a busy machine.
    const answers = await Promise.all([send(), send(), send(), send()]);
    expect(answers.map(({ status }) => status)).toContain(429);
  });

  it.each([
    [{ interests: ['a'], users: ['ann'], web: {} }, 'users'],
    [{ web: {} }, 'interests'],
    [{ interests: ['a'] }, 'apns'],
  ])('is refused with the field: %j', async (body, field) => {
    const { id } = await newInstance(server);
    const refused = await ask('POST', `/instances/${id}/publishes`, body);
    expect(refused).toMatchObject({ status: 400, json: { field } });
  });

  it('that nests too deep is refused before it is written', async () => {
    const { id } = await newInstance(server);
    const raw = `{"interests":["a"],"web":{"data":${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}}}`;
    for (const path of ['publishes', 'previews']) {
      const refused = await admin(server, 'POST', `/instances/${id}/${path}`, { raw });
      expect(refused.status).toBe(400);
    }
  });
});

describe('fanfare push send', () => {
  it('shows what a publish would do, and sends it, through the running server', async () => {
    const instance = await newInstance(server);
    await deviceOf(instance, 'fcm', ['a']);
    const config = join(server.directory, 'config.json');
    const url = `http://127.0.0.1:${server.adminPort}`;
    const run = (...args: string[]) =>
      fanfare(server.directory, ['push', 'send', ...args, '--url', url, '--config', config]);
    const body = (title: unknown) =>
      JSON.stringify({ interests: ['a'], fcm: { notification: { title } } });
    expect(await run(instance.id, body('Hi'), '--dry-run')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^fcm: \d+ of 4096 bytes; the instance has no credential for it\n1 device would get it.\n$/,
      ),
    });
    const sent = await run(instance.id, body('Hi'), '--idempotency-key', 'k');
    expect(sent).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Sent as pubid-/) });
    expect(await run(instance.id, body('Hi'), '--idempotency-key', 'k')).toEqual(sent);
    expect(await run(instance.id, body(1), '--dry-run')).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('fcm.notification.title: must be a string'),
    });
    expect(await run(instance.id, body(1))).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('fcm.notification.title: must be a string'),
    });
    expect((await run('nowhere', body('Hi'))).exitCode).toBe(1);
    expect((await run(instance.id, 'x')).exitCode).toBe(2);
  });
});

describe('the credential of a gateway', () => {
  it('is asked about without a device, and never shown', async () => {
    const { id, privateKey, serviceAccount } = await withCredentials();
    for (const platform of ['apns', 'fcm']) {
      const asked = await ask('POST', `/instances/${id}/gateways/check`, { platform });
      expect(asked).toMatchObject({ status: 200, json: { answers: [{ result: 'accepted' }] } });
    }
    const body = { apns: { privateKey }, fcm: { serviceAccount } };
    for (const [method, query] of [
      ['GET', ''],
      ['GET', '?secrets=true'],
      ['PATCH', '?dry-run=true'],
    ] as const) {
      const { status, text } = await admin(server, method, `/instances/${id}${query}`, {
        ...(method === 'GET' ? {} : { body }),
      });
      expect(status).toBe(200);
      for (const secret of [privateKey, serviceAccount]) {
        expect(text).not.toContain(JSON.stringify(secret).slice(1, 200));
      }
      expect(text).not.toContain('PRIVATE KEY');
    }
  });

  it('is tried before it is kept, and takes the place of the one before', async () => {
    const { id, serviceAccount } = await withCredentials();
    const check = (account: object) =>
      ask('POST', `/instances/${id}/gateways/check`, {
        platform: 'fcm',
        fcm: { serviceAccount: JSON.stringify(account) },
      });
    const known = JSON.parse(serviceAccount);
    expect(await check(known)).toMatchObject({ json: { answers: [{ result: 'accepted' }] } });
    const other = { ...known, client_email: 'nobody@shop.iam.gserviceaccount.com' };
    expect(await check(other)).toMatchObject({ json: { answers: [{ result: 'refused' }] } });
    // What is kept has not changed.
    expect(await ask('POST', `/instances/${id}/gateways/check`, { platform: 'fcm' })).toMatchObject(
      { json: { answers: [{ result: 'accepted' }] } },
    );

    const { privateKeyFile, ...apns } = gateways.settings.apns;
    const changed = await ask('PATCH', `/instances/${id}`, { apns: { privateKeyFile } });
    expect(changed.json['apns']).toMatchObject({ ...apns, privateKeyFile });
    const asked = await ask('POST', `/instances/${id}/gateways/check`, { platform: 'apns' });
    expect(asked).toMatchObject({ json: { answers: [{ result: 'accepted' }] } });

    const ofMachine = { metadata: true, projectId: known.project_id };
    const withMachine = await ask('PATCH', `/instances/${id}`, { fcm: ofMachine });
    expect(withMachine.json['fcm']).toMatchObject(ofMachine);
    const back = await ask('PATCH', `/instances/${id}`, { fcm: { serviceAccount } });
    expect(back.json['fcm']).toMatchObject({ metadata: false });
    const again = await ask('POST', `/instances/${id}/gateways/check`, { platform: 'fcm' });
    expect(again).toMatchObject({ json: { answers: [{ result: 'accepted' }] } });
  });

  it('is not sent to an address that it names itself', async () => {
    const { id, serviceAccount } = await withCredentials();
    const account = { ...JSON.parse(serviceAccount), token_uri: 'http://169.254.169.254/token' };
    const refused = await ask('POST', `/instances/${id}/gateways/check`, {
      platform: 'fcm',
      fcm: { serviceAccount: JSON.stringify(account) },
    });
    expect(refused).toMatchObject({ status: 400, json: { field: 'fcm.serviceAccount' } });
  });

  it('of another kind of file is refused with the reason', async () => {
    const { id } = await withCredentials();
    const refused = await ask('POST', `/instances/${id}/gateways/check`, {
      platform: 'fcm',
      fcm: { serviceAccount: '{"project_info":{}}' },
    });
    expect(refused).toMatchObject({ status: 400, json: { field: 'fcm.serviceAccount' } });
    expect(String(refused.json['error'])).toContain('google-services.json');
  });

  it('is shown with the last answer of its gateway', async () => {
    const instance = await withCredentials();
    const { id } = instance;
    await deviceOf(instance, 'apns', ['a'], 'ab'.repeat(32));
    await ask('POST', `/instances/${id}/publishes`, {
      interests: ['a'],
      apns: { aps: { alert: 'Hi' } },
    });
    const { json } = await eventually(
      () => ask('GET', `/instances/${id}/gateways`),
      ({ json: shown }) => JSON.stringify(shown).includes('"acceptedAtMs":1'),
    );
    expect(json['gateways']).toMatchObject([
      { platform: 'apns', configured: true, acceptedAtMs: expect.any(Number), refusal: null },
      { platform: 'fcm', configured: true, acceptedAtMs: null, refusal: null },
      { platform: 'web' },
    ]);
  });
});
