import { describe, expect, it } from 'bun:test';
import { generateKeyPairSync, verify } from 'node:crypto';
import { ProviderToken, ProviderTokens, readSigningKey } from './provider-token.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const credentials = { teamId: 'TEAM123456', keyId: 'KEY1234567', privateKey };

const HALF_HOUR_MS = 30 * 60_000;
/** A half hour. */
const START_MS = 1_000_000 * HALF_HOUR_MS;

function read(authorization: string) {
  const [, token = ''] = /^bearer (.+)$/.exec(authorization) ?? [];
  const [head = '', claims = '', signature = ''] = token.split('.');
  const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
  return {
    header: decode(head),
    claims: decode(claims),
    signature: Buffer.from(signature, 'base64url'),
    signed: Buffer.from(`${head}.${claims}`),
  };
}

describe('a provider token', () => {
  it('names the key and the team, and is a signed JWT', () => {
    const field = new ProviderToken(credentials).at(START_MS + 90_000);
    expect(field.name).toBe('authorization');
    const { header, claims, signature, signed } = read(field.value);
    expect(header).toEqual({ kid: 'KEY1234567', alg: 'ES256' });
    expect(claims).toEqual({ iss: 'TEAM123456', iat: START_MS / 1000 });
    expect(signature).toHaveLength(64);
    expect(verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)).toBe(
      true,
    );
  });

  it('is the same on all servers, and renewed each half hour', () => {
    const issued = (atMs: number) => read(new ProviderToken(credentials).at(atMs).value).claims.iat;
    for (const sinceMs of [60_000, 61_000, HALF_HOUR_MS, HALF_HOUR_MS + 59_999]) {
      expect(issued(START_MS + sinceMs)).toBe(START_MS / 1000);
    }
    expect(issued(START_MS + HALF_HOUR_MS + 60_000)).toBe((START_MS + HALF_HOUR_MS) / 1000);
  });

  it('is valid for Apple even if clocks differ by a minute', () => {
    const token = new ProviderToken(credentials);
    for (let seconds = 0; seconds < 7200; seconds += 7) {
      const nowMs = START_MS + seconds * 1000;
      const issuedAtMs = read(token.at(nowMs).value).claims.iat * 1000;
      expect(issuedAtMs).toBeLessThanOrEqual(nowMs - 60_000);
      expect(issuedAtMs).toBeGreaterThan(nowMs - 3600_000 + 60_000);
    }
  });

  it('is signed once until it is renewed', () => {
    const token = new ProviderToken(credentials);
    const first = token.at(START_MS + 60_000);
    expect(token.at(START_MS + HALF_HOUR_MS)).toBe(first);
    expect(token.at(START_MS + HALF_HOUR_MS + 60_000)).not.toBe(first);
  });

  it('is shared by team and key', () => {
    const tokens = new ProviderTokens();
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    expect(tokens.of({ ...credentials })).toBe(tokens.of(credentials));
    expect(tokens.of({ ...credentials, teamId: 'OTHER' })).not.toBe(tokens.of(credentials));
    expect(tokens.of({ ...credentials, keyId: 'OTHER' })).not.toBe(tokens.of(credentials));
    expect(tokens.of({ ...credentials, privateKey: other })).not.toBe(tokens.of(credentials));
  });
});

describe('a signing key', () => {
  it('is read from a file of Apple’s', () => {
    const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }));
    const read = readSigningKey(pem);
    if (!read.ok) throw new Error(read.why);
    expect(read.key.equals(privateKey)).toBe(true);
  });

  it.each([
    ['nothing', '', 'it is empty'],
    [
      'a public key',
      String(publicKey.export({ format: 'pem', type: 'spki' })),
      'it holds no complete private key',
    ],
    [
      'half a key',
      '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGBy\n-----END PRIVATE KEY-----',
      'it holds a damaged private key',
    ],
    [
      'a byte order mark',
      `\uFEFF${privateKey.export({ format: 'pem', type: 'pkcs8' })}`,
      'it begins with a byte order mark (BOM), which an editor has added: save it as UTF-8 without BOM',
    ],
  ])('is refused: %s', (_, pem, why) => {
    expect(readSigningKey(pem)).toEqual({ ok: false, why });
  });

  it.each([
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
    ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey],
    ['Ed25519', generateKeyPairSync('ed25519').privateKey],
  ])('of %s is refused', (_, key) => {
    const pem = String(key.export({ format: 'pem', type: 'pkcs8' }));
    expect(readSigningKey(pem)).toEqual({
      ok: false,
      why: 'it is not a P-256 key',
    });
  });
});
