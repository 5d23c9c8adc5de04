import { describe, expect, it } from 'bun:test';
import { createECDH, createHash } from 'node:crypto';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { PushRefusal } from '../refusal.ts';
import { readWebToken } from './web-subscription.ts';

const rules = { allowedHosts: ['fcm.googleapis.com'], allowPrivateAddresses: false };

const endpoint = 'https://fcm.googleapis.com/fcm/send/d-_x:APA91b';
/** Of RFC 8291, appendix A. */
const keys = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};

/** As browsers and the SDK write it. */
const tokenOf = (subscription: unknown) => btoa(JSON.stringify(subscription));
const subscription = { endpoint, expirationTime: null, keys };

const read = (token: unknown) => readWebToken(token, rules);
const refused = (reason: string) => new PushRefusal('bad-device-request', `\`token\`: ${reason}`);

describe('the token of a browser', () => {
  const expected = {
    token: JSON.stringify({ endpoint, keys }),
    identity: createHash('sha256').update(endpoint).digest().toString('base64url', 0, 16),
  };

  it('is read as the web SDK sends it', () => {
    expect(read(tokenOf(subscription))).toEqual(expected);
    expect(expected.identity).toHaveLength(22);
  });

  it('is the same in any encoding', () => {
    const standard = {
      p256dh: `${keys.p256dh.replaceAll('-', '+').replaceAll('_', '/')}=`,
      auth: `${keys.auth.replaceAll('-', '+').replaceAll('_', '/')}==`,
    };
    // The added text contains both characters in which the alphabets differ.
    const spelled = { more: '???>>>', keys: standard, endpoint: endpoint.replace('fcm.', 'FCM.') };
    const token = tokenOf(spelled);
    expect(token).toMatch(/\+.*\/|\/.*\+/);
    expect(read(token)).toEqual(expected);
    expect(read(token.replace(/=+$/, ''))).toEqual(expected);
    expect(read(Buffer.from(JSON.stringify(spelled)).toString('base64url'))).toEqual(expected);
  });

  it('has an identity that depends only on the endpoint', () => {
    const other = createECDH('prime256v1').generateKeys().toString('base64url');
    const identityOf = (changed: object) => {
      const token = read(tokenOf({ ...subscription, ...changed }));
      return token instanceof PushRefusal ? token : token.identity;
    };
    expect(identityOf({ keys: { ...keys, p256dh: other } })).toBe(expected.identity);
    expect(identityOf({ endpoint: `${endpoint}2` })).not.toBe(expected.identity);
  });

  it.each<unknown>([undefined, null, 7, {}, true])('is not %j', (token) => {
    expect(read(token)).toEqual(refused('must be a string'));
  });

  it.each([
    '',
    'x',
    '%%%%',
    JSON.stringify(subscription),
    btoa('[]'),
    btoa('null'),
    btoa('{'),
    Buffer.from([0x7b, 0xff, 0x7d]).toString('base64'),
    `${tokenOf(subscription)}\n`,
    tokenOf({ ...subscription, more: 'x'.repeat(8192) }),
  ])('is not %.40j', (token) => {
    expect(read(token)).toEqual(refused('must be base64 of the JSON of a push subscription'));
  });

  it('has at most 8192 characters', () => {
    const most = { ...subscription, more: '' };
    most.more = 'x'.repeat(8192 * 0.75 - JSON.stringify(most).length);
    expect(tokenOf(most)).toHaveLength(8192);
    expect(read(tokenOf(most))).toEqual(expected);
    most.more += 'x';
    expect(read(tokenOf(most))).toBeInstanceOf(PushRefusal);
  });

  it('must have an allowed endpoint', () => {
    const at = (value: unknown) => read(tokenOf({ ...subscription, endpoint: value }));
    expect(at(undefined)).toEqual(refused('the endpoint of the subscription must be a string'));
    expect(at('http://fcm.googleapis.com/')).toEqual(
      refused('the endpoint of the subscription must be an https URL'),
    );
    expect(at('https://169.254.169.254/')).toEqual(
      refused('the endpoint of the subscription is not at an allowed push service'),
    );
  });

  it('must have both keys, each of its size, and a valid public key', () => {
    const withKeys = (value: unknown) => read(tokenOf({ ...subscription, keys: value }));
    const bytes = (length: number) => Buffer.alloc(length, 4).toString('base64url');
    for (const none of [undefined, null, 'keys', []]) {
      expect(withKeys(none)).toEqual(refused('the subscription must have keys'));
    }
    for (const p256dh of [undefined, 7, '', bytes(64), bytes(65), bytes(66), '!'.repeat(87)]) {
      expect(withKeys({ ...keys, p256dh })).toEqual(
        refused('p256dh of the subscription must be an uncompressed point of P-256 in base64url'),
      );
    }
    for (const auth of [undefined, 7, '', bytes(15), bytes(17), '!'.repeat(22), bytes(1000)]) {
      expect(withKeys({ ...keys, auth })).toEqual(
        refused('auth of the subscription must be 16 bytes in base64url'),
      );
    }
  });

  it('is never quoted in a refusal', () => {
    const secret = 'c2VjcmV0';
    const bad = [
      { ...subscription, endpoint: `https://evil.example/${secret}` },
      { ...subscription, endpoint: `https://fcm.googleapis.com/${secret}#${secret}` },
      { endpoint, keys: { p256dh: secret, auth: secret } },
      { endpoint, keys: { ...keys, auth: secret } },
    ];
    for (const token of [secret, ...bad.map(tokenOf)]) {
      const refusal = read(token);
      expect(refusal).toBeInstanceOf(PushRefusal);
      expect(JSON.stringify(refusal)).not.toContain(secret);
    }
  });

  it('is read or refused, for any input', () => {
    const value = fc.oneof(fc.anything(), fc.constantFrom(endpoint, keys, keys.auth, keys.p256dh));
    const near = fc.record({
      endpoint: value,
      keys: fc.oneof(value, fc.record({ p256dh: value, auth: value })),
    });
    const tokens = fc.oneof(
      fc.anything(),
      fc.string({ unit: anyCharacter }),
      fc.base64String(),
      fc.json().map((json) => Buffer.from(json).toString('base64')),
      near.map((fields) => Buffer.from(fc.stringify(fields)).toString('base64')),
      near.map((fields) => Buffer.from(JSON.stringify(fields, withoutBigInts)).toString('base64')),
    );
    fc.assert(
      fc.property(tokens, (token) => {
        const result = read(token);
        if (result instanceof PushRefusal) expect(result.problem).toBe('bad-device-request');
        else expect(result.identity).toHaveLength(22);
      }),
    );
  });
});

function withoutBigInts(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}
