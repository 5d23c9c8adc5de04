import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instanceSettings } from '../../../config/settings/push-settings.ts';
import { Resolver } from '../../../outgoing/resolve.ts';
import { isKnownReason } from '../../../push/explain/advice.ts';
import type { DeviceId, Platform, Recipient } from '../../../push/model/device.ts';
import type { PublishId } from '../../../push/model/publish.ts';
import { readApnsPayload } from '../../../push/payloads/apns.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import { type LiveInstance, pushInstance } from '../../../tenants/push-instance.ts';
import { InstanceGateways } from './instance-gateways.ts';

let directory: string;
let gateways: InstanceGateways;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'fanfare-gateways-'));
  const silent = () => undefined;
  const lookup = async () => ({ addresses: ['127.0.0.1'], keepMs: 0 });
  gateways = new InstanceGateways({
    log: { debug: silent, info: silent, warn: silent, error: silent },
    resolver: new Resolver({ lookup, timers: systemTimers }),
    proxy: undefined,
  });
});
afterEach(async () => {
  await gateways[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const NUMBER = 7;
const file = (name: string) => join(directory, name);

function writeKey(name: string): void {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(file(name), privateKey.export({ type: 'pkcs8', format: 'pem' }));
}

function writeAccount(name: string): void {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const account = { project_id: 'shop', client_email: 'a@example.test', private_key };
  writeFileSync(file(name), JSON.stringify(account));
}

/** An instance with a key for APNs, and an account for FCM if given. */
function served(
  more: { readonly keyId?: string; readonly caFile?: string; readonly fcm?: object } = {},
): LiveInstance {
  const { keyId = 'KEY1234567', caFile = null, fcm } = more;
  const settings = instanceSettings.parse({
    id: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
    name: 'shop',
    secretKeys: ['A'.repeat(64)],
    apns: { teamId: 'TEAM123456', keyId, privateKeyFile: file('key.p8'), caFile },
    ...(fcm === undefined ? {} : { fcm }),
  });
  return { settings, instance: pushInstance(settings, NUMBER) };
}

const gatewayOf = (platform: Platform) => gateways.byNumber(NUMBER)?.gateways[platform];

const device: Recipient = {
  number: 1,
  id: 'apns-1' as DeviceId,
  platform: 'apns',
  token: 'ab'.repeat(32),
  bundleId: 'com.example.app',
  userId: undefined,
  seenAtMs: 0,
  isTrusted: true,
};

function send() {
  const payload = readApnsPayload({ aps: { alert: 'Hello' } });
  if (!('aps' in payload)) throw new Error('no payload');
  const gateway = gateways.byNumber(NUMBER)?.gateways.apns;
  return gateway?.prepare({
    instanceId: 'i',
    publishId: 'pubid-1' as PublishId,
    payload,
    acceptedAtMs: 0,
  })(device);
}

interface ExternalCase {
  readonly projectId?: string;
  readonly source?: object;
}

function externalAccount(source: object = { file: file('subject') }): object {
  return {
    type: 'external_account',
    audience:
      '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: 'https://sts.googleapis.com/v1/token',
    credential_source: source,
  };
}

const fault = {
  instance: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
  setting: 'apns.privateKeyFile',
};

describe('the gateways of an instance', () => {
  it('stay if nothing has changed, and are replaced if a key has', () => {
    writeKey('key.p8');
    expect(gateways.replace([served()])).toEqual([]);
    const before = gatewayOf('apns');
    expect(before).toBeDefined();
    gateways.replace([served()]);
    expect(gatewayOf('apns')).toBe(before);
    writeKey('key.p8');
    gateways.replace([served()]);
    expect(gatewayOf('apns')).toBeDefined();
    expect(gatewayOf('apns')).not.toBe(before);
    expect(gatewayOf('fcm')).toBeUndefined();
  });

  it.each([
    ['is no key any more', () => writeFileSync(file('key.p8'), 'nonsense'), {}],
    ['is gone', () => rmSync(file('key.p8')), {}],
    ['is gone, and its id is another', () => rmSync(file('key.p8')), { keyId: 'KEY7654321' }],
  ] as const)('stay if the key %s', async (_, breakKey, change) => {
    writeKey('key.p8');
    gateways.replace([served()]);
    const working = gatewayOf('apns');
    breakKey();
    expect(gateways.replace([served(change)])).toMatchObject([fault]);
    expect(gatewayOf('apns')).toBe(working);
    // Also the next time.
    expect(gateways.replace([served(change)])).toMatchObject([fault]);
    expect(gatewayOf('apns')).toBe(working);
    writeKey('key.p8');
    expect(gateways.replace([served(change)])).toEqual([]);
    expect(gatewayOf('apns')).not.toBe(working);
  });

  it.each([
    ['key.p8', '', 'apns.privateKeyFile', 'is empty'],
    ['key.p8', '\uFEFF', 'apns.privateKeyFile', 'begins with a byte order mark'],
    ['ca.pem', '', 'apns.caFile', 'is empty'],
    ['ca.pem', 'nonsense', 'apns.caFile', 'is not PEM'],
  ])(
    'name the file %s with the content %j, its setting and what is wrong',
    (name, text, setting, fault) => {
      writeKey('key.p8');
      writeFileSync(file(name), text);
      const why = expect.stringContaining(`${file(name)} ${fault}`);
      const change = name === 'ca.pem' ? { caFile: file(name) } : {};
      expect(gateways.replace([served(change)])).toMatchObject([{ setting, why }]);
    },
  );

  it('let devices wait if a key was never readable, and name the setting', async () => {
    expect(gateways.replace([served()])).toMatchObject([fault]);
    expect(await send()).toEqual({
      result: 'not-authorised',
      reason: 'settings-unusable',
      words: 'apns.privateKeyFile cannot be used',
      scope: 'connection',
    });
    expect(isKnownReason('apns', 'settings-unusable')).toBe(true);
    // The same one: otherwise each change of any instance would retry all devices.
    const waiting = gatewayOf('apns');
    gateways.replace([served()]);
    expect(gatewayOf('apns')).toBe(waiting);

    writeKey('key.p8');
    expect(gateways.replace([served()])).toEqual([]);
    expect(gatewayOf('apns')).not.toBe(waiting);
    expect(gatewayOf('apns')?.atOnce).toBeGreaterThan(1);
  });

  it('of one platform work without those of another', () => {
    writeKey('key.p8');
    const fcm = { serviceAccountFile: file('account.json') };
    expect(gateways.replace([served({ fcm })])).toMatchObject([
      { setting: 'fcm.serviceAccountFile' },
    ]);
    expect(gatewayOf('apns')?.atOnce).toBeGreaterThan(1);
    expect(gatewayOf('fcm')?.atOnce).toBe(1);
    gateways.replace([]);
    expect(gateways.byNumber(NUMBER)).toBeUndefined();
  });

  it.each([
    ['an external account without a project', {}, 'fcm.projectId', 'names no project'],
    [
      'an external account that starts a program',
      { projectId: 'shop-1234', source: { executable: { command: 'id' } } },
      'fcm.serviceAccountFile',
      'neither a file nor a url',
    ],
  ])('refuse %s', (_, { projectId, source }: ExternalCase, setting, why) => {
    writeKey('key.p8');
    writeFileSync(file('external.json'), JSON.stringify(externalAccount(source)));
    const fcm = { serviceAccountFile: file('external.json'), ...(projectId && { projectId }) };
    expect(gateways.replace([served({ fcm })])).toMatchObject([
      { setting, why: expect.stringContaining(why) },
    ]);
  });

  it('take an external account from a file of the operator only', () => {
    writeKey('key.p8');
    const json = JSON.stringify(externalAccount());
    writeFileSync(file('external.json'), json);
    const fcm = { serviceAccountFile: file('external.json'), projectId: 'shop-1234' };
    expect(gateways.replace([served({ fcm })])).toEqual([]);
    expect(gatewayOf('fcm')?.atOnce).toBeGreaterThan(1);
    const text = { serviceAccount: json, projectId: 'shop-1234' };
    expect(gateways.replace([served({ fcm: text })])).toMatchObject([
      { setting: 'fcm.serviceAccount', why: 'its type is not "service_account"' },
    ]);
  });

  it('stay open if their successors cannot be opened, and others are replaced', async () => {
    writeKey('key.p8');
    writeAccount('account.json');
    const fcm = { serviceAccountFile: file('account.json') };
    gateways.replace([served({ fcm })]);
    const working = gatewayOf('fcm');
    let closed = 0;
    Object.assign(working ?? {}, { [Symbol.asyncDispose]: async () => void closed++ });
    const apns = gatewayOf('apns');

    const { settings, instance } = served({ fcm, keyId: 'KEY7654321' });
    const wrong = { ...settings, fcm: settings.fcm && { ...settings.fcm, origin: 'nonsense' } };
    expect(gateways.replace([{ settings: wrong, instance }])).toMatchObject([{ setting: 'fcm' }]);
    expect(gatewayOf('fcm')).toBe(working);
    expect(closed).toBe(0);
    expect(gatewayOf('apns')).not.toBe(apns);

    gateways.replace([{ settings: { ...settings, fcm: undefined }, instance }]);
    expect(gatewayOf('fcm')).toBeUndefined();
    expect(closed).toBe(1);
  });
});
