import { expect, it } from 'bun:test';
import { createECDH } from 'node:crypto';
import { newInstance, newInstanceId, newSecretKey, newVapidPair } from './new-credentials.ts';

it('makes ids that are lower-case UUIDs of version 4', () => {
  expect(newInstanceId()).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});

it('makes unique secret keys of 64 upper-case hex characters', () => {
  expect(newSecretKey()).toMatch(/^[0-9A-F]{64}$/);
  expect(newSecretKey()).not.toBe(newSecretKey());
});

it('makes VAPID keys that form a pair, even if the private key starts with a zero', () => {
  // One in 256 does.
  for (let n = 0; n < 2000; n++) {
    const { publicKey, privateKey } = newVapidPair();
    expect([publicKey.length, privateKey.length]).toEqual([87, 43]);
    const ecdh = createECDH('prime256v1');
    ecdh.setPrivateKey(Buffer.from(privateKey, 'base64url'));
    expect(ecdh.getPublicKey('base64url')).toBe(publicKey);
  }
});

it('makes instances that can reach browsers', () => {
  const { name, settings } = newInstance('shop', 'https://shop.example');
  expect(name).toBe('shop');
  expect(settings.web.vapid.subject).toBe('https://shop.example');
  expect(newInstance('').settings.web.vapid.subject).not.toContain('localhost');
});
