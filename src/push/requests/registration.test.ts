import { describe, expect, it } from 'bun:test';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { NO_LIMITS } from '../../../testing/push-limits.ts';
import { platforms } from '../model/device.ts';
import { newDeviceId } from '../model/device-id.ts';
import type { PushInstance } from '../model/instance.ts';
import { tokenKinds } from '../model/token-kind.ts';
import { PushRefusal } from '../refusal.ts';
import { readNewToken, readRegistration } from './registration.ts';

const instance: PushInstance = {
  id: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
  number: 1,
  name: '',
  secretKeys: ['secret'],
  limits: NO_LIMITS,
  whenUserIsFull: 'refuse',
  webhooks: [],
  web: {
    vapidPublicKey: '',
    declarative: false,
    allowedHosts: ['updates.push.services.mozilla.com'],
    allowPrivateAddresses: false,
  },
};

const subscription = {
  endpoint: 'https://updates.push.services.mozilla.com/wpush/v2/x',
  expirationTime: null,
  keys: {
    p256dh:
      'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  },
};

const bodies = {
  apns: { token: 'ab'.repeat(32), bundleIdentifier: 'com.example.App' },
  fcm: { token: 'd-x:APA91b_-' },
  web: { token: btoa(JSON.stringify(subscription)) },
};

const client = 'push-notifications-swift 4.0.0';
const tokenIdentity = (text: string) =>
  createHash('sha256').update(text).digest().toString('base64url', 0, 16);
const refused = (description: string) => new PushRefusal('bad-device-request', description);

describe('an apns device', () => {
  const read = (body: object) => readRegistration('apns', { ...body }, { instance, client });

  it('is read as the iOS SDK sends it', () => {
    const metadata = { sdkVersion: '4.0.0', iosVersion: '17.1' };
    expect(read({ ...bodies.apns, metadata })).toEqual({
      platform: 'apns',
      token: 'ab'.repeat(32),
      identity: tokenIdentity(`apns:${'ab'.repeat(32)}`),
      bundleId: 'com.example.App',
      metadata,
      client,
    });
  });

  it('has a token in any case', () => {
    expect(read({ ...bodies.apns, token: 'AB'.repeat(32) })).toEqual(read(bodies.apns));
  });

  it.each(['ab'.repeat(8), '0123456789abcdef', 'ab'.repeat(200)])(
    'may have the token %s',
    (token) => {
      expect(read({ ...bodies.apns, token })).toMatchObject({ token });
    },
  );

  it.each<unknown>([
    undefined,
    null,
    7,
    '',
    'ab'.repeat(7),
    'ab'.repeat(201),
    `${'ab'.repeat(32)}a`,
    `${'ab'.repeat(31)}xy`,
    `${'ab'.repeat(32)}\n`,
    `../${'ab'.repeat(32)}`,
  ])('must not have the token %j', (token) => {
    expect(read({ ...bodies.apns, token })).toEqual(
      refused('`token`: must be the hex of 8 to 200 bytes'),
    );
  });

  it.each(['missing-bundle-id', 'x', 'com.example.my_app-2.voip', 'x'.repeat(255)])(
    'may have the bundle id %s',
    (bundleIdentifier) => {
      expect(read({ ...bodies.apns, bundleIdentifier })).toMatchObject({
        bundleId: bundleIdentifier,
      });
    },
  );

  it.each<unknown>([undefined, null, 7, '', 'x'.repeat(256), 'a b', 'a\r\nb: c', 'é', 'a/b'])(
    'must not have the bundle id %j',
    (bundleIdentifier) => {
      expect(read({ ...bodies.apns, bundleIdentifier })).toEqual(
        refused(
          '`bundleIdentifier`: must be a string of 1 to 255 letters, digits and the characters . _ -',
        ),
      );
    },
  );

  it('may have a further token, which no older server takes for one of Apple', () => {
    const ordinary = read(bodies.apns);
    for (const kind of tokenKinds) {
      expect(read({ ...bodies.apns, kind })).toEqual({
        ...ordinary,
        kind,
        token: `${kind}:${'ab'.repeat(32)}`,
      });
    }
    expect(read({ ...bodies.apns, kind: null })).toEqual(ordinary);
    for (const kind of ['alert', 'channel', '', 7, [], 'toString']) {
      expect(read({ ...bodies.apns, kind })).toEqual(
        refused(
          '`kind`: must be one of liveactivity-start, liveactivity, voip, widgets, controls, complication, location, fileprovider, pushtotalk',
        ),
      );
    }
    expect(readRegistration('fcm', { ...bodies.fcm, kind: 'x' }, { instance, client })).toEqual(
      readRegistration('fcm', bodies.fcm, { instance, client }),
    );
  });

  it('may name the ordinary token of its app, in any case', () => {
    for (const parentToken of ['cd'.repeat(32), 'CD'.repeat(32)]) {
      expect(read({ ...bodies.apns, kind: 'voip', parentToken })).toMatchObject({
        parent: tokenIdentity(`apns:${'cd'.repeat(32)}`),
      });
    }
    for (const parentToken of ['', 'xy', 7, `voip:${'cd'.repeat(32)}`]) {
      expect(read({ ...bodies.apns, kind: 'voip', parentToken })).toEqual(
        refused('`parentToken`: must be the hex of 8 to 200 bytes'),
      );
    }
  });
});

describe('an fcm device', () => {
  const read = (body: object) => readRegistration('fcm', { ...body }, { instance, client });

  it('is read as the Android SDK sends it', () => {
    const metadata = { sdkVersion: '1.10.0', androidVersion: '14' };
    expect(read({ ...bodies.fcm, knownPreviousClientIds: [], metadata })).toEqual({
      platform: 'fcm',
      token: 'd-x:APA91b_-',
      identity: tokenIdentity('fcm:d-x:APA91b_-'),
      bundleId: undefined,
      metadata,
      client,
    });
  });

  it('has no bundle id', () => {
    expect(read({ ...bodies.fcm, bundleIdentifier: 7 })).toMatchObject({ bundleId: undefined });
  });

  it.each<unknown>([undefined, null, 7, '', 'a b', 'a\n', 'é', 'x'.repeat(4097)])(
    'must not have the token %.20j',
    (token) => {
      const why = refused(
        '`token`: must be a string of 1 to 4096 printable ASCII characters without spaces',
      );
      expect(read({ token })).toEqual(why);
      expect(readNewToken('fcm', { token }, instance)).toEqual(why);
    },
  );

  it('may get a new token', () => {
    expect(readNewToken('fcm', { token: '!' }, instance)).toEqual({
      token: '!',
      identity: tokenIdentity('fcm:!'),
    });
    const token = 'x'.repeat(4096);
    expect(readNewToken('fcm', { token }, instance)).toEqual({
      token,
      identity: tokenIdentity(`fcm:${token}`),
    });
  });

  it.each<{ readonly ids: unknown }>([
    { ids: null },
    { ids: [] },
    { ids: ['x', '', newDeviceId('web')] },
    { ids: Array(300).fill(newDeviceId('fcm')) },
  ])('may name ids of older versions: $ids', ({ ids: knownPreviousClientIds }) => {
    expect(read({ ...bodies.fcm, knownPreviousClientIds })).toEqual(read(bodies.fcm));
  });

  it.each<unknown>(['x', 7, {}, [[7]], [[newDeviceId('fcm'), null]]])(
    'must name them in an array of strings: %j',
    (knownPreviousClientIds) => {
      expect(read({ ...bodies.fcm, knownPreviousClientIds })).toEqual(
        refused('`knownPreviousClientIds`: must be an array of strings'),
      );
    },
  );
});

describe('a web device', () => {
  it('is read as the web SDK sends it', () => {
    const body = { ...bodies.web, metadata: { sdkVersion: '2.1.0' } };
    expect(readRegistration('web', body, { instance, client: 'Mozilla/5.0' })).toEqual({
      platform: 'web',
      token: JSON.stringify({ endpoint: subscription.endpoint, keys: subscription.keys }),
      identity: tokenIdentity(subscription.endpoint),
      bundleId: undefined,
      metadata: { sdkVersion: '2.1.0' },
      client: 'Mozilla/5.0',
    });
  });

  it('is refused for an invalid token', () => {
    expect(readRegistration('web', { token: 'x' }, { instance, client: '' })).toMatchObject({
      problem: 'bad-device-request',
    });
  });

  it('needs an instance with web push', () => {
    expect(
      readRegistration('web', bodies.web, {
        instance: { ...instance, web: undefined },
        client: '',
      }),
    ).toEqual(refused('The instance has no web push configured'));
  });
});

describe('any device', () => {
  it.each(platforms)('needs no metadata: %s', (platform) => {
    const body = bodies[platform];
    expect(readRegistration(platform, body, { instance, client: '' })).toMatchObject({
      metadata: {},
    });
    expect(
      readRegistration(platform, { ...body, metadata: null }, { instance, client: '' }),
    ).toMatchObject({
      metadata: {},
    });
  });

  it.each(platforms)('must have metadata in an object: %s', (platform) => {
    const body = bodies[platform];
    for (const metadata of ['x', 7, []]) {
      expect(readRegistration(platform, { ...body, metadata }, { instance, client: '' })).toEqual(
        refused('`metadata`: must be an object'),
      );
    }
    const metadata = { sdkVersion: 7 };
    expect(readRegistration(platform, { ...body, metadata }, { instance, client: '' })).toEqual(
      refused('`metadata.sdkVersion`: must be a string of at most 100 characters'),
    );
  });

  it('has its client as one line of at most 300 characters', () => {
    const lines = `a\r\nb\u0000${'x'.repeat(400)}`;
    expect(readRegistration('fcm', bodies.fcm, { instance, client: lines })).toMatchObject({
      client: `a  b ${'x'.repeat(295)}`,
    });
    const cut = readRegistration('fcm', bodies.fcm, { instance, client: `${'x'.repeat(299)}😀` });
    expect(cut).toMatchObject({ client: `${'x'.repeat(299)}\ufffd` });
  });

  it('is read or refused, for any input', () => {
    const value = fc.oneof(
      fc.anything(),
      fc.string({ unit: anyCharacter }),
      fc.constantFrom<unknown>(
        bodies.apns.token,
        bodies.fcm.token,
        bodies.web.token,
        'com.example',
      ),
    );
    const names = ['token', 'bundleIdentifier', 'knownPreviousClientIds', 'metadata'];
    const anyBody = fc.dictionary(fc.constantFrom(...names), value);
    fc.assert(
      fc.property(fc.constantFrom(...platforms), anyBody, fc.string(), (platform, body, text) => {
        const read = readRegistration(platform, body, { instance, client: text });
        if (read instanceof PushRefusal) expect(read.problem).toBe('bad-device-request');
        else expect(read.platform).toBe(platform);
      }),
    );
  });
});
