import type { JsonObject } from '../../runtime/json-object.ts';
import {
  isSignedBy,
  JWT_LENGTH_MAX,
  parseJwt,
  type UnverifiedJwt,
} from '../../runtime/tokens/jwt.ts';
import { isSignedWith, readTokenKey, type TokenKey } from '../../runtime/tokens/token-keys.ts';
import { TOKEN_DAYS_MAX } from '../../runtime/tokens/token-times.ts';
import { type App, type AppGrants, secretOf } from '../app.ts';
import { isUserId } from '../channel-name.ts';
import type { GrantPattern } from '../grants/grant.ts';
import { readPatterns } from '../grants/read-patterns.ts';
import type { GrantOrigin, Revocations } from '../grants/revocations.ts';
import { readUserData, type UserData } from '../wire.ts';
import type { TokenResult } from './token-result.ts';

/** Verifies tokens that clients present. Source: identity, §3.2 and §3.4. */

export interface AcceptedToken {
  readonly ok: true;
  /** `undefined`: the token names none. */
  readonly user: UserData | undefined;
  /** What confirms a sign-in with it: the user as JSON. */
  readonly userText: string;
  readonly patterns: readonly GrantPattern[];
  /** Seconds since 1970. */
  readonly endsAtSeconds: number;
  /** By what it can be revoked. */
  readonly origin: GrantOrigin;
}

interface RefusedToken {
  readonly ok: false;
  readonly result: TokenResult;
  /** Quotes nothing of the token. */
  readonly why: string;
  /** Whether finding out has cost much more than a frame. */
  readonly isCostly?: boolean;
}

export type CheckedToken = AcceptedToken | RefusedToken;

const ALGORITHMS = ['HS256', 'RS256', 'ES256', 'EdDSA'];

const EXP_MAX_SECONDS = TOKEN_DAYS_MAX * 86_400;

/** Whether an `auth` is a token rather than a key and a signature, which have a colon between them. */
export function isToken(app: App, auth: string | undefined): auth is string {
  return (
    app.grants !== undefined &&
    auth !== undefined &&
    !auth.includes(':') &&
    auth.split('.', 4).length === 3
  );
}

/** Reads a token of an app that takes grants: first the signature, and only then what it says. */
export function readToken(
  app: App & { readonly grants: AppGrants },
  token: string,
  nowSeconds: number,
): CheckedToken {
  const jwt = parseJwt(token);
  if (jwt === undefined) {
    return refused('malformed', `it must be a JWT of at most ${JWT_LENGTH_MAX} characters`);
  }
  const { alg } = jwt.header;
  if (typeof alg !== 'string' || !ALGORITHMS.includes(alg)) {
    return refused('malformed', 'alg must be HS256, RS256, ES256 or EdDSA');
  }
  // RFC 7515, 4.1.11: it lists extensions that must be supported, and we support none.
  if (Object.hasOwn(jwt.header, 'crit')) return refused('malformed', 'crit is not supported');
  const isShared = alg === 'HS256';
  const checks = isShared
    ? secretsFor(app, jwt).map((secret) => () => isSignedBy(secret, jwt))
    : keysFor(app.grants, alg).map((key) => () => isSignedWith(key, jwt));
  if (checks.length === 0) return refused('key', 'no key of this app fits its kid and alg');
  if (!checks.some((isRight) => isRight())) {
    return { ...refused('signature', 'the signature does not match'), isCostly: !isShared };
  }
  const claims = jwt.readClaims();
  return claims === undefined
    ? refused('malformed', 'its claims must be a JSON object')
    : readClaims(app, claims, { nowSeconds, isShared });
}

/** Refuses a token that is valid, but was revoked. */
export function unlessRevoked(
  read: CheckedToken,
  appId: string,
  revocations: Revocations,
): CheckedToken {
  return read.ok && revocations.revoking(appId, read.origin) !== undefined
    ? refused('revoked', 'it was revoked')
    : read;
}

/** Without a `kid`, each key of the app may have signed it. */
function secretsFor(app: App, { header }: UnverifiedJwt): readonly string[] {
  const { kid } = header;
  if (kid === undefined) return app.keys.map(({ secret }) => secret);
  const secret = typeof kid === 'string' ? secretOf(app, kid) : undefined;
  return secret === undefined ? [] : [secret];
}

/** By list: keys are parsed when the setting is first used. */
const keysOf = new WeakMap<readonly string[], readonly TokenKey[]>();

function keysFor({ publicKeys }: AppGrants, algorithm: string): readonly TokenKey[] {
  let keys = keysOf.get(publicKeys);
  if (keys === undefined) {
    keys = publicKeys.flatMap((pem) => readTokenKey(pem) ?? []);
    keysOf.set(publicKeys, keys);
  }
  // A key has no `kid` here, so that it fits every one.
  return keys.filter((key) => key.algorithm === algorithm);
}

function readClaims(
  app: App & { readonly grants: AppGrants },
  claims: JsonObject,
  { nowSeconds, isShared }: { readonly nowSeconds: number; readonly isShared: boolean },
): CheckedToken {
  const { leewaySeconds, channelsClaim, issuer } = app.grants;
  const { exp, nbf, iat, iss, aud, jti } = claims;
  // Also from when it was issued: it would outlive the revocation that it is meant by.
  const countedFrom = isTime(iat) ? Math.min(iat, nowSeconds) : nowSeconds;
  if (!isTime(exp) || exp > countedFrom + EXP_MAX_SECONDS) {
    return refused('claim', `exp must be a time within ${TOKEN_DAYS_MAX} days`);
  }
  if (nowSeconds >= exp + leewaySeconds) return refused('expired', 'it has expired');
  for (const [name, time] of [['nbf', nbf] as const, ['iat', iat] as const]) {
    if (time === undefined) continue;
    if (!isTime(time)) return refused('claim', `the claim \`${name}\` must be a time`);
    if (time > nowSeconds + leewaySeconds) return refused('early', 'it is not valid yet');
  }
  // An issuer with public keys signs tokens for other apps, too. A secret of this app signs for this app alone.
  if (!isShared && iss !== issuer) return refused('issuer', 'the issuer is another');
  if (isShared ? aud !== undefined && !isAudience(app, aud) : !names(aud, [app.grants.audience])) {
    return refused('audience', 'the audience is another');
  }
  const read = readPatterns(claims[channelsClaim] ?? {});
  if (!read.ok) return refused('claim', `the claim \`${channelsClaim}\` ${read.why}`);
  const user = readUser(app.grants, claims);
  if (typeof user === 'string') return refused('claim', user);
  const origin: GrantOrigin = {
    userId: user.user?.id,
    jti: typeof jti === 'string' ? jti : undefined,
    issuedAtSeconds: isTime(iat) ? iat : undefined,
  };
  return { ok: true, ...user, patterns: read.patterns, endsAtSeconds: exp, origin };
}

/** The user whom the claims describe, or what is wrong with them. */
function readUser(
  { userClaim }: AppGrants,
  claims: JsonObject,
): string | Pick<AcceptedToken, 'user' | 'userText'> {
  const id = claims[userClaim];
  if (id === undefined) return { user: undefined, userText: '' };
  if (typeof id !== 'string' || !isUserId(id))
    return `the claim \`${userClaim}\` must be a user id`;
  const { user_info, watchlist, live } = claims;
  const read = readUserData(JSON.stringify({ id, user_info, watchlist, live }));
  if (read.ok) return { user: read.user, userText: JSON.stringify({ id, user_info }) };
  return read.why === 'bad-watchlist'
    ? 'the claim `watchlist` must be an array of user ids'
    : 'the claim `user_info` must be an object';
}

function isAudience(app: App & { readonly grants: AppGrants }, aud: unknown): boolean {
  const { audience } = app.grants;
  const ours = [
    app.id,
    ...app.keys.map(({ key }) => key),
    ...(audience === null ? [] : [audience]),
  ];
  return names(aud, ours);
}

function names(aud: unknown, audiences: readonly (string | null)[]): boolean {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return named.some((one) => typeof one === 'string' && audiences.includes(one));
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function refused(result: TokenResult, why: string): RefusedToken {
  return { ok: false, result, why: `Invalid token: ${why}` };
}
