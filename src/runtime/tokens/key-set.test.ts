import { describe, expect, it } from 'bun:test';
import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { KEY_SET_BYTES_MAX, type KeySetKey, readKeySet } from './key-set.ts';
import { isSignedWith, readTokenKey } from './token-keys.ts';

const pairs = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
};
const jwk = (algorithm: keyof typeof pairs) => pairs[algorithm].publicKey.export({ format: 'jwk' });
const rsa = jwk('RS256');
const ec = jwk('ES256');
const ed = jwk('EdDSA');

const read = (value: unknown) => readKeySet(Buffer.from(JSON.stringify(value)));
const kidsOf = (keys: readonly unknown[]) => {
  const found = read({ keys });
  return found.ok ? found.keys.map(({ kid }) => kid) : found.why;
};
const base64 = (bytes: number, fill = 255) => Buffer.alloc(bytes, fill).toString('base64url');

describe('a key set', () => {
  it.each(['RS256', 'ES256', 'EdDSA'] as const)('gives keys that verify: %s', (algorithm) => {
    const found = read({ keys: [{ ...jwk(algorithm), kid: 'a', use: 'sig', alg: algorithm }] });
    const [key] = found.ok ? found.keys : [];
    expect(key).toMatchObject({ kid: 'a', algorithm });
    const hash = algorithm === 'EdDSA' ? null : 'sha256';
    const how = { key: pairs[algorithm].privateKey, dsaEncoding: 'ieee-p1363' } as const;
    const signature = sign(hash, Buffer.from('text'), how).toString('base64url');
    const used = readTokenKey((key as KeySetKey).pem);
    expect(used && isSignedWith(used, { signed: 'text', signature })).toBe(true);
    expect(used && isSignedWith(used, { signed: 'Text', signature })).toBe(false);
  });

  it('may have keys of one kid, or of none, which all count', () => {
    expect(kidsOf([rsa, { ...rsa, kid: 'a' }, { ...ec, kid: 'a' }, { ...ed, kid: 'a' }])).toEqual([
      undefined,
      'a',
      'a',
      'a',
    ]);
    expect(read({ keys: [], more: 1 })).toEqual({ ok: true, keys: [], ignored: [] });
  });

  it.each<[string, unknown]>([
    ['no JSON object', 'text'],
    ['no JSON object', null],
    ['private or secret', pairs.RS256.privateKey.export({ format: 'jwk' })],
    ['private or secret', pairs.ES256.privateKey.export({ format: 'jwk' })],
    ['private or secret', pairs.EdDSA.privateKey.export({ format: 'jwk' })],
    ['private or secret', { kty: 'oct', k: 'AAAA' }],
    ['private or secret', { ...rsa, p: null }],
    ['not for signatures', { ...rsa, use: 'enc' }],
    ['not for signatures', { ...rsa, use: null }],
    ['not for signatures', { ...rsa, key_ops: ['encrypt'] }],
    ['not for signatures', { ...rsa, key_ops: 'verify' }],
    ['of another alg than RS256, ES256 or EdDSA', { ...rsa, alg: 'PS256' }],
    ['of another alg than RS256, ES256 or EdDSA', { ...rsa, alg: 'ES256' }],
    ['of another alg than RS256, ES256 or EdDSA', { ...ec, alg: 'HS256' }],
    ['a kid that is no text of at most 200 characters', { ...rsa, kid: 7 }],
    ['a kid that is no text of at most 200 characters', { ...rsa, kid: 'x'.repeat(201) }],
    ['incomplete', { ...rsa, e: undefined }],
    ['incomplete', { ...ec, y: 1 }],
    ['incomplete', { kty: 'OKP', crv: 'Ed25519' }],
    ...[
      { ...rsa, kty: 'EC', crv: 'P-256', x: rsa.n, y: rsa.e },
      { ...ec, kty: 'RSA', n: ec.x, e: ec.y },
      { ...ec, kty: 'constructor' },
      { ...ec, kty: ['EC'] },
      { ...ec, crv: 'P-384' },
      { ...ec, crv: 'Ed25519' },
      // Not on the curve.
      { ...ec, y: ec.x },
      { ...ed, crv: 'X25519' },
      { ...ed, x: 'AAAA' },
      { ...rsa, n: base64(128) },
      { ...rsa, n: base64(513) },
      { ...rsa, n: base64(4096) },
      { ...rsa, n: '####' },
      { ...rsa, e: 'AQ' },
      { ...rsa, e: 'Ag' },
      { ...rsa, e: base64(4) },
      { ...rsa, e: base64(100) },
      generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' }),
      generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' }),
    ].map((key): [string, unknown] => [
      'neither RSA of 2048 to 4096 bits, nor P-256, nor Ed25519',
      key,
    ]),
  ])('ignores what is %s, and takes the others: %j', (why, lie) => {
    const found = read({ keys: [lie, { ...ec, kid: 'good' }, lie] });
    expect(found).toMatchObject({ ok: true, keys: [{ kid: 'good' }], ignored: [why] });
  });

  it('takes over nothing but the public part of a key', () => {
    const found = read({ keys: [{ ...ec, kid: 'a', x5u: 'https://evil.example.com', more: [1] }] });
    expect(found.ok && Object.keys(found.keys[0] ?? {})).toEqual(['kid', 'algorithm', 'pem']);
  });

  it.each<[string, string | Uint8Array]>([
    ['it is no JSON object with `keys`', ''],
    ['it is no JSON object with `keys`', '<html>'],
    ['it is no JSON object with `keys`', '[]'],
    ['it is no JSON object with `keys`', '{"keys":{}}'],
    ['it is no JSON object with `keys`', '{"keys":['],
    ['it is no JSON object with `keys`', '['.repeat(KEY_SET_BYTES_MAX)],
    ['it is no JSON object with `keys`', new Uint8Array([0xff])],
    ['it has more than 65536 bytes', `{"keys":[]}${' '.repeat(KEY_SET_BYTES_MAX)}`],
    ['it has more than 100 keys', JSON.stringify({ keys: Array(101).fill({}) })],
  ])('is refused as a whole: %s', (why, body) => {
    expect(readKeySet(Buffer.from(body))).toEqual({ ok: false, why });
  });

  it('never throws, whatever it is given', () => {
    const key = fc.record(
      {
        kty: fc.constantFrom('RSA', 'EC', 'OKP', 'oct'),
        crv: fc.constantFrom('P-256', 'Ed25519', 'P-521'),
        n: fc.base64String(),
        e: fc.base64String(),
        x: fc.base64String(),
        y: fc.base64String(),
        kid: fc.jsonValue(),
        use: fc.jsonValue(),
        alg: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(key, fc.jsonValue())), (keys) => {
        expect(read({ keys }).ok).toBe(true);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(readKeySet(bytes).ok).toBe(false);
      }),
    );
  });
});
