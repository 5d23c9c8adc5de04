import { describe, expect, it } from 'bun:test';
import { generateKeyPairSync, sign } from 'node:crypto';
import { type KeySetKey, readKeySet } from '../../runtime/tokens/key-set.ts';
import type { App } from '../app.ts';
import { Revocations } from '../grants/revocations.ts';
import { appWith } from '../hub.fixture.ts';
import { examineAuth } from './examine.ts';
import { readToken } from './token.ts';

/** Source: identity, §3.4. */

const NOW = 1_800_000_000;
const URL = 'https://issuer.example.com/jwks';
const grants = {
  channels: {},
  leewaySeconds: 0,
  jwksUrl: URL,
  publicKeys: [] as readonly string[],
  issuer: 'them',
  audience: 'ours',
  channelsClaim: 'channels',
  userClaim: 'sub',
} as const;

type Pair = ReturnType<typeof newPair>;
const newPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const [first, second] = [newPair(), newPair()];

function tokenOf({ privateKey }: Pair, kid?: unknown): string {
  const claims = {
    ...{ exp: NOW + 60, iss: 'them', aud: 'ours', sub: 'ann' },
    channels: { 'private-x': ['subscribe'] },
  };
  const parts = [{ alg: 'ES256', kid }, claims];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const how = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
  return `${text.join('.')}.${sign('sha256', Buffer.from(text.join('.')), how).toString('base64url')}`;
}

function setOf(...listed: readonly (readonly [Pair, string | undefined])[]): readonly KeySetKey[] {
  const keys = listed.map(([{ publicKey }, kid]) => ({
    ...publicKey.export({ format: 'jwk' }),
    kid,
  }));
  const read = readKeySet(Buffer.from(JSON.stringify({ keys })));
  if (!read.ok) throw new Error(read.why);
  return read.keys;
}

const withKeys = (keys: readonly KeySetKey[] | undefined, more: Partial<typeof grants> = {}) => ({
  ...appWith(),
  grants: { ...grants, ...more },
  keySet: { url: URL, keys, version: 1 },
});

const read = (app: App & { readonly grants: typeof grants }, token: string) => {
  const found = readToken(app, token, NOW);
  return found.ok ? 'accepted' : { result: found.result, lacks: found.lacks };
};

describe('a token of an issuer with a key set', () => {
  it('is accepted by the key that it names, and by one that has no name', () => {
    expect(read(withKeys(setOf([first, 'a'], [second, 'b'])), tokenOf(second, 'b'))).toBe(
      'accepted',
    );
    expect(read(withKeys(setOf([first, 'a'], [second, undefined])), tokenOf(second, 'c'))).toBe(
      'accepted',
    );
    expect(read(withKeys(setOf([first, 'a'], [second, 'b'])), tokenOf(second))).toBe('accepted');
  });

  it('is refused by a key that has another name', () => {
    const keys = setOf([first, 'a'], [second, 'b']);
    expect(read(withKeys(keys), tokenOf(second, 'a'))).toEqual({
      result: 'signature',
      lacks: undefined,
    });
    expect(read(withKeys(keys), tokenOf(second, 7))).toEqual({ result: 'key', lacks: undefined });
  });

  it('lacks its kid if no key has it, also if others without a kid were tried', () => {
    expect(read(withKeys(setOf([first, 'a'])), tokenOf(second, 'b'))).toEqual({
      result: 'key',
      lacks: 'kid',
    });
    const keys = setOf([first, undefined]);
    expect(read(withKeys(keys), tokenOf(second, 'b'))).toEqual({
      result: 'signature',
      lacks: 'kid',
    });
    const publicKeys = [String(first.publicKey.export({ type: 'spki', format: 'pem' }))];
    expect(read(withKeys([], { publicKeys }), tokenOf(second, 'b'))).toEqual({
      result: 'signature',
      lacks: 'kid',
    });
    expect(read(withKeys([], { publicKeys }), tokenOf(first, 'b'))).toBe('accepted');
  });

  it('lacks the whole set if none was fetched, or one from another address', () => {
    for (const app of [
      { ...withKeys(undefined), keySet: undefined },
      withKeys(undefined),
      { ...withKeys([]), keySet: { url: `${URL}2`, keys: setOf([first, 'a']), version: 1 } },
    ]) {
      expect(read(app, tokenOf(first, 'a'))).toEqual({ result: 'key', lacks: 'key-set' });
    }
  });

  it('is not compared with the set once the app names none', () => {
    const app = { ...withKeys(setOf([first, 'a'])), grants: { ...grants, jwksUrl: null } };
    expect(readToken(app, tokenOf(first, 'a'), NOW)).toMatchObject({
      result: 'key',
      lacks: undefined,
    });
  });

  it('is compared with 20 keys of the set at most, those that it names first', () => {
    const nameless = Array.from({ length: 90 }, () => [first, undefined] as const);
    const app = withKeys(setOf(...nameless, [second, 'b']));
    expect(read(app, tokenOf(second, 'b'))).toBe('accepted');
    expect(readToken(app, tokenOf(second, 'c'), NOW)).toMatchObject({ triedKeys: 20 });
    const named = withKeys(setOf(...nameless.map(() => [first, 'a'] as const)));
    expect(readToken(named, tokenOf(second, 'a'), NOW)).toMatchObject({ triedKeys: 20 });
  });
});

describe('an examined token', () => {
  const examine = (kid: string, keySet: Parameters<typeof examineAuth>[2]['keySet']) =>
    examineAuth(
      { ...appWith(), grants },
      { channel: 'private-x', socketId: '1.1', auth: tokenOf(second, kid) },
      { nowSeconds: NOW, revocations: new Revocations({ now: () => 1000 * NOW }), keySet },
    ).text;
  const good = { keys: setOf([first, 'a'], [second, 'b']), failure: undefined, ignored: [] };

  it('is compared with the key set', () => {
    expect(examine('b', good)).toBe(
      'The token is valid, and its pattern private-x covers the channel.',
    );
  });

  it.each([
    ['c', good, 'The key set has the kids "a", "b".'],
    [
      'c',
      { keys: undefined, failure: { why: 'HTTP 404' }, ignored: [] },
      'The key set cannot be fetched: HTTP 404.',
    ],
    [
      'c',
      { keys: [], failure: undefined, ignored: ['private or secret'] },
      'The key set has no key that can be used. Keys of it are ignored: private or secret.',
    ],
    [
      'c',
      {
        keys: setOf(...Array.from({ length: 12 }, () => [first, undefined] as const)),
        failure: undefined,
        ignored: [],
      },
      `The key set has the kids ${Array(10).fill('null').join(', ')} and 2 more.`,
    ],
  ])('says what the key set has, if that may be the cause: %#', (kid, keySet, said) => {
    expect(examine(kid, keySet)).toEndWith(`. ${said}`);
  });
});
