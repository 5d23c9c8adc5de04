import { describe, expect, it } from 'bun:test';
import { TOKEN_DAYS_MAX } from '../../runtime/tokens/token-times.ts';
import { FakeClock } from '../hub.fixture.ts';
import {
  type GrantOrigin,
  REVOCATIONS_MAX,
  type Revocation,
  Revocations,
  type Revoked,
} from './revocations.ts';

/** Source: identity, §3.6. */

const NOW = 1_700_000_000;
const DAY_MS = 86_400_000;

function revocation(
  kind: Revoked['kind'],
  name: string,
  issuedBefore = NOW,
  more: Partial<Revocation> = {},
): Revocation {
  return { appId: 'app', kind, name, issuedBefore, revokedAtMs: NOW * 1000, ...more };
}

function known(...all: readonly Revocation[]) {
  const clock = new FakeClock();
  const revocations = new Revocations(clock);
  revocations.add(all);
  const isRevoked = (origin: GrantOrigin, appId = 'app') =>
    revocations.revoking(appId, origin) !== undefined;
  return { clock, revocations, isRevoked };
}

describe('a revocation', () => {
  it('of a user is of grants that were given in its second or before', () => {
    const { isRevoked } = known(revocation('user', 'ann'));
    const of = (issuedAtSeconds: number | undefined, userId = 'ann') =>
      isRevoked({ userId, issuedAtSeconds });
    expect([of(NOW - 1), of(NOW), of(NOW + 0.9), of(NOW + 1)]).toEqual([true, true, true, false]);
    expect([of(undefined), of(NOW, 'bob'), of(undefined, 'bob')]).toEqual([true, false, false]);
    expect(isRevoked({ issuedAtSeconds: NOW })).toBe(false);
    expect(isRevoked({ userId: 'ann', issuedAtSeconds: NOW }, 'other')).toBe(false);
  });

  it('of a token is of all with its id, whenever they were issued', () => {
    const { isRevoked } = known(revocation('token', 'id'));
    const of = (jti: string | undefined) => isRevoked({ jti, issuedAtSeconds: NOW + 100 });
    expect([of('id'), of('ID'), of(undefined)]).toEqual([true, false, false]);
    expect(isRevoked({ userId: 'id', issuedAtSeconds: NOW })).toBe(false);
  });

  it('of all is of everybody, also of tokens without a user', () => {
    const { isRevoked } = known(revocation('all', ''));
    expect([isRevoked({ userId: 'ann', issuedAtSeconds: NOW }), isRevoked({})]).toEqual([
      true,
      true,
    ]);
    expect(isRevoked({ issuedAtSeconds: NOW + 1 })).toBe(false);
  });

  it('counts until no token can be left that it means', () => {
    const { clock, isRevoked } = known(revocation('token', 'id'));
    clock.advance(TOKEN_DAYS_MAX * DAY_MS);
    expect(isRevoked({ jti: 'id' })).toBe(true);
    clock.advance(DAY_MS);
    expect(isRevoked({ jti: 'id' })).toBe(false);
  });
});

describe('of two revocations of the same', () => {
  it('the later counts, in any order', () => {
    const [early, late] = [revocation('user', 'ann', NOW - 10), revocation('user', 'ann', NOW)];
    for (const order of [
      [early, late],
      [late, early],
    ]) {
      const { isRevoked } = known(...order);
      expect(isRevoked({ userId: 'ann', issuedAtSeconds: NOW })).toBe(true);
    }
  });

  it('one of all replaces those that it covers', () => {
    const { revocations } = known(
      revocation('user', 'old', NOW - 1),
      revocation('user', 'new', NOW + 1),
      revocation('token', 'old', NOW - 300),
      // Its issuer may say that it was issued after the revocation of all.
      revocation('token', 'new', NOW - 299),
      revocation('all', '', NOW),
    );
    const kept = [...revocations.all()].map(({ kind, name }) => `${kind} ${name}`);
    expect(kept).toEqual(['user new', 'token new', 'all ']);
  });
});

describe('the revocations of an app', () => {
  const many = (count: number, more: Partial<Revocation> = {}) =>
    Array.from({ length: count }, (_, n) => revocation('user', `user-${n}`, NOW, more));
  const another = revocation('user', 'another');

  it('are limited, but for repeated ones and that of all', () => {
    const { revocations } = known(...many(REVOCATIONS_MAX));
    expect(revocations.hasRoomFor('app', another)).toBe(false);
    expect(revocations.hasRoomFor('app', revocation('token', 'user-7'))).toBe(false);
    expect(revocations.hasRoomFor('app', revocation('user', 'user-7'))).toBe(true);
    expect(revocations.hasRoomFor('app', revocation('all', ''))).toBe(true);
    expect(revocations.hasRoomFor('other', another)).toBe(true);
    revocations.add([revocation('all', '')]);
    expect(revocations.hasRoomFor('app', another)).toBe(true);
  });

  it('have room again when the old ones are over', () => {
    const { clock, revocations } = known(...many(REVOCATIONS_MAX));
    clock.advance(32 * DAY_MS);
    expect(revocations.hasRoomFor('app', another)).toBe(true);
    expect([...revocations.all()]).toEqual([]);
  });

  it('have another version after each change, and none without one', () => {
    const { revocations } = known();
    expect(revocations.versionOf('app')).toBe(0);
    revocations.add([another]);
    const first = revocations.versionOf('app');
    revocations.add([another]);
    expect(revocations.versionOf('app')).toBeGreaterThan(first);
    expect(revocations.versionOf('other')).toBe(0);
  });

  it('are replaced, those of other apps are not', () => {
    const other = revocation('user', 'ann', NOW, { appId: 'other' });
    const { revocations } = known(another, other);
    revocations.replace(['app'], [revocation('user', 'ann')]);
    expect([...revocations.all()]).toEqual([other, revocation('user', 'ann')]);
    revocations.replace(['app'], []);
    expect([...revocations.all()]).toEqual([other]);
  });
});
