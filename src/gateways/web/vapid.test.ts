import { describe, expect, it } from 'bun:test';
import { newP256Pair } from '../../fake-gateways/p256.ts';
import { vapidFault } from '../../fake-gateways/web/vapid-check.ts';
import { VapidAuthorization, VapidSigner } from './vapid.ts';

const HOUR_MS = 3_600_000;
const START_MS = 1_800_000_000_000;
const origin = 'https://push.example.test:8443';
const pair = newP256Pair();
const signer = new VapidSigner({
  publicKey: pair.publicText,
  privateKey: pair.privateText,
  subject: 'mailto:ops@example.test',
});

const claimsOf = (header: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(header.split('.')[1] ?? '', 'base64url').toString());

describe('VAPID authorization', () => {
  it('is signed for one push service and twelve hours', () => {
    const header = signer.sign(origin, START_MS + 999);
    expect(header).toMatch(/^vapid t=[\w-]+\.[\w-]+\.[\w-]{86}, k=[\w-]{87}$/);
    expect(vapidFault(header, origin, pair.publicText, START_MS)).toBeUndefined();
    expect(claimsOf(header)).toEqual({
      aud: origin,
      exp: START_MS / 1000 + 12 * 3600,
      sub: 'mailto:ops@example.test',
    });
    const other = vapidFault(header, 'https://other.example.test', pair.publicText, START_MS);
    expect(other).toBe(`aud is ${origin}`);
  });

  it('accepts a private key with padding, as some tools write it', () => {
    const padded = new VapidSigner({
      publicKey: pair.publicText,
      privateKey: `${pair.privateText}=`,
      subject: 'https://example.test',
    });
    const header = padded.sign(origin, START_MS);
    expect(vapidFault(header, origin, pair.publicText, START_MS)).toBeUndefined();
  });

  it('is renewed after six hours, and not before', () => {
    const authorization = new VapidAuthorization(signer, origin);
    const first = authorization.at(START_MS);
    expect(authorization.at(START_MS + 6 * HOUR_MS - 1)).toBe(first);
    const second = authorization.at(START_MS + 6 * HOUR_MS);
    expect(second.value).not.toBe(first.value);
    expect(claimsOf(second.value)['exp']).toBe(START_MS / 1000 + 18 * 3600);
    expect(authorization.at(START_MS + 7 * HOUR_MS)).toBe(second);
  });

  it('is renewed when a clock that was far ahead is corrected', () => {
    const authorization = new VapidAuthorization(signer, origin);
    authorization.at(START_MS + 1_000 * HOUR_MS);
    const { value } = authorization.at(START_MS);
    expect(vapidFault(value, origin, pair.publicText, START_MS)).toBeUndefined();
  });
});
