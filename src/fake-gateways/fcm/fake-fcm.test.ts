import { afterEach, describe, expect, it } from 'bun:test';
import { tokenRequestBody } from '../../gateways/fcm/tokens/assertion.ts';
import {
  readServiceAccount,
  type ServiceAccount,
} from '../../gateways/fcm/tokens/service-account.ts';
import { Http2Client } from '../../outgoing/http2/client.ts';
import { findLoopback } from '../../outgoing/http2/connecting/addresses.fixture.ts';
import { keptField } from '../../outgoing/http2/hpack/header-field.ts';
import { newFakeAccount } from './access-token-issuer.ts';
import { type FakeFcm, startFakeFcm } from './fake-fcm.ts';
import { fcmFault } from './message-check.ts';

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

const account = newFakeAccount();
const NOW_MS = Date.now();

async function start(): Promise<FakeFcm> {
  return stops.use(await startFakeFcm({ account, nowMs: () => NOW_MS }));
}

function accountOf({ accountFile }: FakeFcm): ServiceAccount {
  const read = readServiceAccount(Buffer.from(accountFile));
  if (!read.ok) throw new Error(read.why);
  return read.account;
}

function postForm({ origin, ca }: FakeFcm, body: string, path = '/token'): Promise<Response> {
  return fetch(origin + path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
    tls: { ca },
  });
}

describe('a fake FCM', () => {
  it('issues an access token to its account', async () => {
    const fcm = await start();
    const answer = await postForm(fcm, tokenRequestBody(accountOf(fcm), NOW_MS));
    expect(answer.status).toBe(200);
    const { access_token } = JSON.parse(await answer.text());
    expect(fcm.issuer.knows(`Bearer ${access_token}`, NOW_MS)).toBe(true);
    expect(fcm.issuer.knows(`Bearer ${access_token}`, NOW_MS + 3_599_000)).toBe(false);
    fcm.issuer.revokeAll();
    expect(fcm.issuer.knows(`Bearer ${access_token}`, NOW_MS)).toBe(false);
  });

  it('issues none to others', async () => {
    const fcm = await start();
    const right = accountOf(fcm);
    const refused = async (body: string) => {
      const answer = await postForm(fcm, body);
      expect(answer.status).toBe(400);
      return JSON.parse(await answer.text());
    };
    const asked = (change: Partial<ServiceAccount>, atMs = NOW_MS) =>
      refused(tokenRequestBody({ ...right, ...change }, atMs));
    const { privateKey } = newFakeAccount();
    expect(await asked({ privateKey })).toEqual({
      error: 'invalid_grant',
      error_description: 'Invalid JWT Signature.',
    });
    expect(await asked({ clientEmail: 'somebody@else.test' })).toMatchObject({
      error_description: 'Invalid grant: account not found',
    });
    expect(await asked({ tokenUri: 'https://oauth2.googleapis.com/token' })).toMatchObject({
      error_description: 'Invalid JWT: aud is https://oauth2.googleapis.com/token',
    });
    for (const atMs of [NOW_MS - 2 * 3_600_000, NOW_MS + 3_600_000]) {
      expect(await asked({}, atMs)).toMatchObject({
        error_description: expect.stringContaining('in a reasonable timeframe'),
      });
    }
    expect(await refused('grant_type=password')).toMatchObject({ error: 'unsupported_grant_type' });
    expect(await refused('')).toMatchObject({ error: 'unsupported_grant_type' });
    expect((await postForm(fcm, '', '/other')).status).toBe(404);
    expect(fcm.issuer.granted).toBe(0);
  });

  it('refuses messages without an access token', async () => {
    const fcm = await start();
    const origin = stops.use(
      new Http2Client({
        origin: fcm.origin,
        ca: fcm.ca,
        findAddresses: findLoopback,
        connectionsMax: 1,
        streamsPerConnectionMax: 1,
        waitingMax: 10,
        requestTimeoutMs: 10_000,
      }),
    );
    for (const authorization of ['Bearer nothing', 'Basic abc', 'Bearer ']) {
      const result = await origin.send({
        path: '/v1/projects/fanfare-fake/messages:send',
        fields: [keptField('authorization', authorization)],
        body: Buffer.from('{"message":{"token":"a:b"}}'),
      });
      expect(result).toMatchObject({ result: 'answered', status: 401 });
    }
  });
});

describe('a message', () => {
  const faultOf = (message: object, more: object = {}) => fcmFault({ message, ...more });

  it('is accepted in the form that FCM describes', () => {
    expect(
      faultOf(
        {
          token: 'a:b',
          notification: { title: 'Hi', body: 'There', image: 'https://example.test/a.png' },
          data: { a: 'b' },
          android: {
            ttl: '3.5s',
            collapseKey: 'a',
            priority: 'HIGH',
            direct_boot_ok: true,
            notification: { tag: 'a', title_loc_args: ['b'], notification_count: 3 },
          },
          apns: { headers: { 'apns-priority': '5' }, payload: { aps: {}, own: null } },
          webpush: { headers: { TTL: '15' }, notification: { silent: true }, fcmOptions: null },
          fcm_options: { analytics_label: 'a' },
        },
        { validate_only: true },
      ),
    ).toBeUndefined();
    expect(faultOf({ fid: 'c7uAbc_-1234567890abcd', data: {} })).toBeUndefined();
  });

  it.each([
    [{ data: {} }, 'message', 'names no recipient'],
    [{ token: 'a', fid: 'b' }, 'message', 'names more than one recipient'],
    [{ token: 7 }, 'message.token', 'must be a string'],
    [{ token: '' }, 'message.token', 'is empty'],
    [{ token: 'a', to: 'b' }, 'message', 'Unknown name "to"'],
    [{ token: 'a', notification: { tag: 'a' } }, 'message.notification', 'Unknown name "tag"'],
    [{ token: 'a', notification: { title: 1 } }, 'message.notification.title', 'must be a string'],
    [{ token: 'a', notification: [] }, 'message.notification', 'must be an object'],
    [{ token: 'a', apns: { anything: {} } }, 'message.apns', 'Unknown name "anything"'],
    [{ token: 'a', fcm_options: { label: 'a' } }, 'message.fcm_options', 'Unknown name "label"'],
    [
      { token: 'a', webpush: { data: { a: 1 } } },
      'message.webpush.data',
      'must be an object of strings',
    ],
    [{ token: 'a', data: { a: 1 } }, 'message.data[a]', 'is not a string'],
    [{ token: 'a', data: { from: 'a' } }, 'message.data[from]', 'is a reserved key'],
    [{ token: 'a', data: { 'google.a': 'a' } }, 'message.data[google.a]', 'is a reserved key'],
    [
      { token: 'a', android: { data: { gcm: 'a' } } },
      'message.android.data[gcm]',
      'is a reserved key',
    ],
    [
      { token: 'a', android: { time_to_live: 1 } },
      'message.android',
      'Unknown name "time_to_live"',
    ],
    ...[60, '60', '-1s', '2419201s', '1.s'].map(
      (ttl) =>
        [
          { token: 'a', android: { ttl } },
          'message.android.ttl',
          'must be seconds from "0s" to "2419200s"',
        ] as const,
    ),
    [
      { token: 'a', android: { priority: 'urgent' } },
      'message.android.priority',
      'must be NORMAL or HIGH',
    ],
    [
      { token: 'a', android: { notification: { body_loc_args: ['a', 1] } } },
      'message.android.notification.body_loc_args',
      'must be an array of strings',
    ],
    [{ token: 'a', data: { a: 'x'.repeat(4096) } }, '', 'Message too big: 4097 bytes'],
  ] as const)('is refused with the reason (%#)', (message, field, description) => {
    expect(faultOf(message)).toEqual({ field, description });
  });

  it.each(['NORMAL', 'HIGH', 'normal', 'high'])('may have the priority %s', (priority) => {
    expect(faultOf({ token: 'a', android: { priority } })).toBeUndefined();
  });

  it('may have 4096 bytes of UTF-8', () => {
    const body = 'ä'.repeat(2046);
    expect(faultOf({ token: 'a', notification: { body } })).toBeUndefined();
    expect(faultOf({ token: 'a', notification: { body: `${body}a` } })).toMatchObject({
      description: 'Message too big: 4097 bytes',
    });
  });

  it('is measured by the data that reaches Android', () => {
    const data = { a: 'x'.repeat(4096) };
    expect(faultOf({ token: 'a', data, android: { data: { a: 'b' } } })).toBeUndefined();
    expect(faultOf({ token: 'a', data: { a: 'b' }, android: { data } })).toMatchObject({
      description: 'Message too big: 4097 bytes',
    });
  });

  it('must be in the field message', () => {
    expect(fcmFault({})).toEqual({ field: 'message', description: 'is missing' });
    expect(faultOf({ token: 'a' }, { dry_run: true })).toEqual({
      field: '',
      description: 'Unknown name "dry_run"',
    });
  });
});
