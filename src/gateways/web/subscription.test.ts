import { describe, expect, it } from 'bun:test';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { newP256Pair } from '../../fake-gateways/p256.ts';
import { readWebToken } from '../../push/requests/web-subscription.ts';
import { readSubscription } from './subscription.ts';

const { publicText } = newP256Pair();
const auth = randomBytes(16);

describe('the token of a browser', () => {
  it('is read as it was registered', () => {
    const endpoint = 'https://updates.push.services.mozilla.com/wpush/v2/abc?x=%20y|z';
    const keys = { p256dh: publicText, auth: auth.toString('base64') };
    const registered = readWebToken(btoa(JSON.stringify({ endpoint, keys })), {
      allowedHosts: ['updates.push.services.mozilla.com'],
      allowPrivateAddresses: false,
    });
    const { token } = 'token' in registered ? registered : { token: '' };
    expect(readSubscription(token)).toEqual({
      origin: 'https://updates.push.services.mozilla.com',
      hostname: 'updates.push.services.mozilla.com',
      path: '/wpush/v2/abc?x=%20y|z',
      keys: { p256dh: Buffer.from(publicText, 'base64url'), auth },
    });
  });

  it('is refused without an endpoint or keys', () => {
    const keys = { p256dh: publicText, auth: auth.toString('base64url') };
    const endpoint = 'https://push.example.test/1';
    const broken = [
      { endpoint },
      { keys },
      { endpoint: 7, keys },
      { endpoint: 'no address', keys },
      { endpoint, keys: { ...keys, auth: 'abc' } },
      { endpoint, keys: { ...keys, p256dh: `${publicText}AAAA` } },
      [],
      null,
    ];
    for (const token of broken) expect(readSubscription(JSON.stringify(token))).toBeUndefined();
  });

  it('is refused if it is not JSON', () => {
    fc.assert(fc.property(fc.string(), (token) => readSubscription(token) === undefined));
  });
});
