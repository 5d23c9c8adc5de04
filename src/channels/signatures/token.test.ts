import { describe, expect, it } from 'bun:test';
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import fc from 'fast-check';
import { Revocations } from '../grants/revocations.ts';
import { appWith } from '../hub.fixture.ts';
import { isToken, readToken, unlessRevoked } from './token.ts';

/** Source: identity, §3.4. */

const NOW = 1_790_000_000;
const grants = {
  channels: {},
  leewaySeconds: 30,
  jwksUrl: null,
  publicKeys: [],
  issuer: null,
  audience: 'ours',
  channelsClaim: 'channels',
  userClaim: 'sub',
} as const;
const app = {
  ...appWith({
    id: '7',
    keys: [
      { key: 'first', secret: 'first-secret' },
      { key: 'second', secret: 'second-secret' },
    ],
  }),
  grants,
};

interface Made {
  readonly header?: object;
  readonly claims?: object;
  readonly secret?: string;
}

function made({ header = {}, claims = {}, secret = 'first-secret' }: Made = {}): string {
  const parts = [
    { alg: 'HS256', typ: 'JWT', ...header },
    { exp: NOW + 600, sub: 'ann', channels: { 'private-a': ['subscribe'] }, ...claims },
  ];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const text = signed.join('.');
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

const read = (token: string, nowSeconds = NOW) => readToken(app, token, nowSeconds);
const why = (token: string) => {
  const found = read(token);
  return found.ok ? 'accepted' : found.why;
};

describe('a token', () => {
  it('gives its user, its channels and its end', () => {
    const claims = { user_info: { name: 'Ann' }, watchlist: ['bob'], live: false };
    expect(read(made({ claims }))).toMatchObject({
      ok: true,
      user: { id: 'ann', userInfo: '{"name":"Ann"}', watchlist: ['bob'], isLive: false },
      userText: '{"id":"ann","user_info":{"name":"Ann"}}',
      patterns: [{ text: 'private-a' }],
      endsAtSeconds: NOW + 600,
    });
  });

  it('says by what it can be revoked, and is refused once it is', () => {
    const token = read(made({ claims: { jti: 'id', iat: NOW - 5 } }));
    expect(token).toMatchObject({ origin: { userId: 'ann', jti: 'id', issuedAtSeconds: NOW - 5 } });
    expect(read(made({ claims: { jti: 7 } }))).toMatchObject({ origin: { jti: undefined } });
    const revocations = new Revocations({ now: () => NOW * 1000 });
    expect(unlessRevoked(token, app.id, revocations)).toBe(token);
    const revoked = { appId: app.id, kind: 'token', name: 'id' } as const;
    revocations.add([{ ...revoked, issuedBefore: NOW, revokedAtMs: NOW * 1000 }]);
    const refused = { result: 'revoked', why: 'Invalid token: it was revoked' };
    expect(unlessRevoked(token, app.id, revocations)).toMatchObject(refused);
    expect(unlessRevoked(token, 'other', revocations)).toBe(token);
  });

  it.each<[string, Made]>([
    ['of the second key', { secret: 'second-secret' }],
    ['that names its key', { secret: 'second-secret', header: { kid: 'second' } }],
    ['without channels', { claims: { channels: undefined } }],
    ['without a user', { claims: { sub: undefined } }],
    ['with nbf and iat within the leeway', { claims: { nbf: NOW + 29, iat: NOW + 30 } }],
    ['that has expired within the leeway', { claims: { exp: NOW - 29 } }],
    ['of 31 days', { claims: { exp: NOW + 31 * 86_400 } }],
    ['for the app', { claims: { aud: '7' } }],
    ['for a key of the app', { claims: { aud: ['x', 'second'] } }],
    ['for the audience of the setting', { claims: { aud: 'ours' } }],
    ['of any issuer', { claims: { iss: 'anybody' } }],
    ['with a key of its own, which is ignored', { header: { jwk: { kty: 'oct', k: 'AA' } } }],
  ])('%s is accepted', (_, token) => {
    expect(why(made(token))).toBe('accepted');
  });

  it.each<[string, string]>([
    ['a.b.c', 'it must be a JWT of at most 8192 characters'],
    [`${made()}=`, 'it must be a JWT of at most 8192 characters'],
    [made({ claims: { more: 'x'.repeat(8192) } }), 'it must be a JWT of at most 8192 characters'],
    [made({ header: { alg: 'none' } }), 'alg must be HS256, RS256, ES256 or EdDSA'],
    [
      `${made({ header: { alg: 'none' } })
        .split('.')
        .slice(0, 2)
        .join('.')}.`,
      'alg must be HS256, RS256, ES256 or EdDSA',
    ],
    [made({ header: { alg: 'hs256' } }), 'alg must be HS256, RS256, ES256 or EdDSA'],
    [made({ header: { alg: ['HS256'] } }), 'alg must be HS256, RS256, ES256 or EdDSA'],
    [made({ header: { crit: [] } }), 'crit is not supported'],
    [made({ header: { kid: 'third' } }), 'no key of this app fits its kid and alg'],
    [made({ header: { kid: 7 } }), 'no key of this app fits its kid and alg'],
    [made({ header: { alg: 'RS256' } }), 'no key of this app fits its kid and alg'],
    [made({ secret: 'another' }), 'the signature does not match'],
    [made({ secret: 'second-secret', header: { kid: 'first' } }), 'the signature does not match'],
    [`${made().split('.').slice(0, 2).join('.')}.`, 'the signature does not match'],
    [made({ claims: { exp: undefined } }), 'exp must be a time within 31 days'],
    [made({ claims: { exp: `${NOW + 60}` } }), 'exp must be a time within 31 days'],
    [made({ claims: { exp: NOW + 32 * 86_400 } }), 'exp must be a time within 31 days'],
    [made({ claims: { exp: NOW - 30 } }), 'it has expired'],
    [
      made({ claims: { iat: NOW - 86_400, exp: NOW + 31 * 86_400 } }),
      'exp must be a time within 31 days',
    ],
    [made({ claims: { nbf: NOW + 31 } }), 'it is not valid yet'],
    [made({ claims: { iat: NOW + 31 } }), 'it is not valid yet'],
    [made({ claims: { iat: 'now' } }), 'the claim `iat` must be a time'],
    [made({ claims: { aud: 'theirs' } }), 'the audience is another'],
    [made({ claims: { aud: null } }), 'the audience is another'],
    [made({ claims: { sub: 'auth0|1' } }), 'the claim `sub` must be a user id'],
    [made({ claims: { sub: '' } }), 'the claim `sub` must be a user id'],
    [made({ claims: { sub: 7 } }), 'the claim `sub` must be a user id'],
    [made({ claims: { user_info: 'Ann' } }), 'the claim `user_info` must be an object'],
    [made({ claims: { watchlist: 'bob' } }), 'the claim `watchlist` must be an array of user ids'],
    [
      made({ claims: { channels: 'private-a' } }),
      'the claim `channels` must be an object of patterns and their rights',
    ],
  ])('is refused: %#', (token, reason) => {
    expect(why(token)).toBe(`Invalid token: ${reason}`);
  });

  describe('of an issuer with public keys', () => {
    const pairs = {
      RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
      ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      EdDSA: generateKeyPairSync('ed25519'),
    };
    const pem = (key: KeyObject) => String(key.export({ type: 'spki', format: 'pem' }));
    const publicKeys = Object.values(pairs).map(({ publicKey }) => pem(publicKey));
    const ofIssuer = { ...app, grants: { ...grants, publicKeys, issuer: 'them' } };
    type Algorithm = keyof typeof pairs;
    const signedBy = (
      alg: Algorithm,
      claims: object = {},
      by: KeyObject = pairs[alg].privateKey,
    ) => {
      const parts = [
        { alg, kid: 'theirs' },
        { exp: NOW + 600, sub: 'ann', iss: 'them', aud: ['x', 'ours'], ...claims },
      ];
      const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
      const hash = alg === 'EdDSA' ? null : 'sha256';
      const signature = sign(hash, Buffer.from(text.join('.')), {
        key: by,
        dsaEncoding: 'ieee-p1363',
      });
      return `${text.join('.')}.${signature.toString('base64url')}`;
    };
    const said = (token: string) => {
      const found = readToken(ofIssuer, token, NOW);
      return found.ok ? 'accepted' : found.why;
    };

    it.each<Algorithm>(['RS256', 'ES256', 'EdDSA'])('is accepted with %s', (alg) => {
      expect(said(signedBy(alg))).toBe('accepted');
      const refused = (why: string) => `Invalid token: ${why}`;
      expect(said(signedBy(alg, { iss: 'others' }))).toBe(refused('the issuer is another'));
      expect(said(signedBy(alg, { iss: undefined }))).toBe(refused('the issuer is another'));
      expect(said(signedBy(alg, { aud: '7' }))).toBe(refused('the audience is another'));
      expect(said(signedBy(alg, { aud: undefined }))).toBe(refused('the audience is another'));
      const found = readToken(ofIssuer, `${signedBy(alg).slice(0, -8)}AAAAAAAA`, NOW);
      expect(found).toMatchObject({ ok: false, result: 'signature', triedKeys: 1 });
    });

    it('is refused if its secret is the text of a public key', () => {
      for (const secret of publicKeys) {
        expect(said(made({ secret }))).toBe('Invalid token: the signature does not match');
      }
    });

    it('is refused if the key is of another kind than its algorithm', () => {
      const [rsa = ''] = publicKeys;
      const only = { ...app, grants: { ...ofIssuer.grants, publicKeys: [rsa] } };
      expect(readToken(only, signedBy('ES256'), NOW)).toMatchObject({ result: 'key' });
    });
  });

  it('is refused if a character is changed', () => {
    const token = made();
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...'Aa0_-'), (at, character) => {
        fc.pre(token[at] !== character);
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        const found = read(changed);
        // The last character has bits that are not used.
        return !found.ok || at === token.length - 1;
      }),
    );
  });

  it('is nothing else, and nothing else is one', () => {
    expect(isToken(app, made())).toBe(true);
    for (const auth of [undefined, '', 'key:signature', 'a.b:c.d', 'a.b', 'a.b.c.d']) {
      expect(isToken(app, auth)).toBe(false);
    }
    expect(isToken(appWith(), made())).toBe(false);
  });
});
