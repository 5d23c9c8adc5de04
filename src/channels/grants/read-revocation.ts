import { isUserId } from '../channel-name.ts';
import type { Revocation, Revoked } from './revocations.ts';

/** The limit of the id of a token that can be revoked. */
const JTI_LENGTH_MAX = 200;

/** The fields of a request to revoke, which strangers may have made. `undefined`: it is not there. */
export interface RevocationFields {
  readonly userId: unknown;
  readonly jti: unknown;
  readonly all: unknown;
  readonly issuedBefore: unknown;
}

/** How an API calls the fields. */
export type FieldNames = { readonly [Field in keyof RevocationFields]: string };

export type ReadRevocation =
  | { readonly ok: true; readonly revocation: Revocation }
  | { readonly ok: false; readonly why: string };

/** Reads what is to be revoked of an app. Source: identity, §3.6. */
export function readRevocation(
  fields: RevocationFields,
  names: FieldNames,
  { appId, nowMs }: { readonly appId: string; readonly nowMs: number },
): ReadRevocation {
  const given = (['userId', 'jti', 'all'] as const).filter((name) => fields[name] !== undefined);
  const [what] = given;
  if (what === undefined || given.length > 1) {
    const { userId, jti, all } = names;
    return { ok: false, why: `${userId}, ${jti} or ${all}: exactly one is needed` };
  }
  const revoked = readRevoked(what, fields[what]);
  if (typeof revoked === 'string') return { ok: false, why: `${names[what]}: ${revoked}` };
  const nowSeconds = Math.floor(nowMs / 1000);
  const { issuedBefore = nowSeconds } = fields;
  const wrong = (rule: string) => ({ ok: false as const, why: `${names.issuedBefore}: ${rule}` });
  if (what === 'jti' && fields.issuedBefore !== undefined) {
    return wrong(`goes with ${names.userId} or ${names.all} only`);
  }
  if (typeof issuedBefore !== 'number' || !Number.isSafeInteger(issuedBefore) || issuedBefore < 0) {
    return wrong('must be whole seconds since 1970');
  }
  if (issuedBefore > nowSeconds) return wrong('must not be in the future');
  return { ok: true, revocation: { ...revoked, appId, issuedBefore, revokedAtMs: nowMs } };
}

/** What is revoked, or which rule is broken. */
function readRevoked(what: 'userId' | 'jti' | 'all', value: unknown): Revoked | string {
  switch (what) {
    case 'userId':
      return typeof value === 'string' && isUserId(value)
        ? { kind: 'user', name: value }
        : 'must be a user id';
    case 'jti':
      return typeof value === 'string' && isJti(value)
        ? { kind: 'token', name: value }
        : `must be a text of 1 to ${JTI_LENGTH_MAX} characters`;
    case 'all':
      return value === true ? { kind: 'all', name: '' } : 'must be true';
    default:
      return what satisfies never;
  }
}

/** Without NUL and broken surrogates, which PostgreSQL cannot store. */
function isJti(text: string): boolean {
  return (
    text !== '' && text.length <= JTI_LENGTH_MAX && !text.includes('\0') && text.isWellFormed()
  );
}
