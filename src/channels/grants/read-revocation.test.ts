import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { type RevocationFields, readRevocation } from './read-revocation.ts';
import type { Revocation } from './revocations.ts';

/** Source: identity, §3.6. */

const NOW = 1_700_000_000;
const names = { userId: 'user_id', jti: 'jti', all: 'all', issuedBefore: 'issued_before' };
const at = { appId: 'app', nowMs: NOW * 1000 + 999 };

function read(fields: Partial<RevocationFields>) {
  const none = { userId: undefined, jti: undefined, all: undefined, issuedBefore: undefined };
  const found = readRevocation({ ...none, ...fields }, names, at);
  return found.ok ? found.revocation : found.why;
}

const revoked = { appId: 'app', issuedBefore: NOW, revokedAtMs: at.nowMs };

describe('a request to revoke', () => {
  it.each<[Partial<RevocationFields>, Revocation]>([
    [{ userId: 'ann' }, { ...revoked, kind: 'user', name: 'ann' }],
    [{ jti: 'j'.repeat(200) }, { ...revoked, kind: 'token', name: 'j'.repeat(200) }],
    [{ jti: 'ü 𝄞' }, { ...revoked, kind: 'token', name: 'ü 𝄞' }],
    [{ all: true }, { ...revoked, kind: 'all', name: '' }],
    [
      { all: true, issuedBefore: NOW },
      { ...revoked, kind: 'all', name: '' },
    ],
    [
      { userId: 'ann', issuedBefore: 5 },
      { ...revoked, kind: 'user', name: 'ann', issuedBefore: 5 },
    ],
  ])('may be %j', (fields, expected) => expect(read(fields)).toEqual(expected));

  it.each<[Partial<RevocationFields>, string]>([
    [{}, 'user_id, jti or all: exactly one is needed'],
    [{ userId: 'ann', all: true }, 'user_id, jti or all: exactly one is needed'],
    [{ issuedBefore: 5 }, 'user_id, jti or all: exactly one is needed'],
    [{ userId: '' }, 'user_id: must be a user id'],
    [{ userId: 'a b' }, 'user_id: must be a user id'],
    [{ userId: 7 }, 'user_id: must be a user id'],
    [{ jti: '' }, 'jti: must be a text of 1 to 200 characters'],
    [{ jti: 'j'.repeat(201) }, 'jti: must be a text of 1 to 200 characters'],
    [{ jti: 'a\0' }, 'jti: must be a text of 1 to 200 characters'],
    [{ jti: '\ud800' }, 'jti: must be a text of 1 to 200 characters'],
    [{ all: false }, 'all: must be true'],
    [{ all: 'true' }, 'all: must be true'],
    [{ all: true, issuedBefore: NOW + 1 }, 'issued_before: must not be in the future'],
    [{ all: true, issuedBefore: 1.5 }, 'issued_before: must be whole seconds since 1970'],
    [{ all: true, issuedBefore: '5' }, 'issued_before: must be whole seconds since 1970'],
    [{ all: true, issuedBefore: -1 }, 'issued_before: must be whole seconds since 1970'],
    [{ jti: 'id', issuedBefore: 5 }, 'issued_before: goes with user_id or all only'],
  ])('cannot be %j: %s', (fields, why) => expect(read(fields)).toBe(why));

  it('is read whatever it is', () => {
    const field = fc.oneof(fc.constant(undefined), fc.anything());
    fc.assert(
      fc.property(
        fc.record({ userId: field, jti: field, all: field, issuedBefore: field }),
        (fields) => {
          const found = readRevocation(fields, names, at);
          if (found.ok) expect(found.revocation.issuedBefore).toBeLessThanOrEqual(NOW);
          else expect(found.why).toMatch(/^[a-z_, ]+: .+/);
        },
      ),
    );
  });
});
