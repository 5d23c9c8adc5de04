import type { JsonObject } from '../../runtime/json-object.ts';
import {
  isSignedBy,
  JWT_LENGTH_MAX,
  parseJwt,
  type UnverifiedJwt,
} from '../../runtime/tokens/jwt.ts';
import type { KeySetKey } from '../../runtime/tokens/key-set.ts';
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
  /** Public keys that the signature was compared with, each of which costs much more than a frame. */
  readonly triedKeys: number;
  /** By what it can be revoked. */
  readonly origin: GrantOrigin;
}

interface RefusedToken {
  readonly ok: false;
  readonly result: TokenResult;
  /** Quotes nothing of the token. */
  readonly why: string;
  /** Public keys that the signature was compared with, each of which costs much more than a frame. */
  readonly triedKeys: number;
  /** What fetching the key set anew may change: the set lacks the `kid` of the token, or has never been fetched. */
  readonly lacks?: 'kid' | 'key-set' | undefined;
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

/** Whether verifying a token takes a public key, which costs much more than a secret. */
export function needsPublicKey(token: string): boolean {
  const alg = parseJwt(token)?.header['alg'];
  return alg !== undefined && alg !== 'HS256';
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
  if (alg === 'HS256') {
    const secrets = secretsFor(app, jwt);
    if (secrets.length === 0) return refused('key', NO_KEY);
    if (!secrets.some((secret) => isSignedBy(secret, jwt))) return refused('signature', NO_MATCH);
    return readVerified(app, jwt, { nowSeconds, isShared: true });
  }
  const keys = keysFor(app, alg, jwt);
  const place = keys.findIndex((key) => isSignedWith(key, jwt));
  if (place >= 0) {
    const read = readVerified(app, jwt, { nowSeconds, isShared: false });
    return { ...read, triedKeys: place + 1 };
  }
  return {
    ...(keys.length === 0 ? refused('key', NO_KEY) : refused('signature', NO_MATCH)),
    triedKeys: keys.length,
    lacks: lackOf(app, alg, jwt),
  };
}

const NO_KEY = 'no key of this app fits its kid and alg';
const NO_MATCH = 'the signature does not match';

function readVerified(
  app: App & { readonly grants: AppGrants },
  jwt: UnverifiedJwt,
  verified: { readonly nowSeconds: number; readonly isShared: boolean },
): CheckedToken {
  const claims = jwt.readClaims();
  return claims === undefined
    ? refused('malformed', 'its claims must be a JSON object')
    : readClaims(app, claims, verified);
}

/** Refuses a token that is valid, but was revoked. */
export function unlessRevoked(
  read: CheckedToken,
  appId: string,
  revocations: Revocations,
): CheckedToken {
  if (!read.ok || revocations.revoking(appId, read.origin) === undefined) return read;
  return { ...refused('revoked', 'it was revoked'), triedKeys: read.triedKeys };
}

/** Without a `kid`, each key of the app may have signed it. */
function secretsFor(app: App, { header }: UnverifiedJwt): readonly string[] {
  const { kid } = header;
  if (kid === undefined) return app.keys.map(({ secret }) => secret);
  const secret = typeof kid === 'string' ? secretOf(app, kid) : undefined;
  return secret === undefined ? [] : [secret];
}

/** Keys of a key set that a token is compared with: many may have no `kid`, or the same. */
const KEY_SET_TRIES_MAX = 20;

/** By list: keys are parsed when it is first used. */
const keysOf = new WeakMap<readonly (string | KeySetKey)[], readonly ParsedKey[]>();

interface ParsedKey extends TokenKey {
  /** `undefined`: it fits every `kid`. */
  readonly kid: string | undefined;
}

function parsed(list: readonly (string | KeySetKey)[]): readonly ParsedKey[] {
  let keys = keysOf.get(list);
  if (keys === undefined) {
    keys = list.flatMap((one) => {
      const [pem, kid] = typeof one === 'string' ? [one, undefined] : [one.pem, one.kid];
      const key = readTokenKey(pem);
      return key === undefined ? [] : [{ ...key, kid }];
    });
    keysOf.set(list, keys);
  }
  return keys;
}

/** The key set of the issuer; `undefined`: it is not known. */
function keySetOf({ grants, keySet }: App & { readonly grants: AppGrants }) {
  return keySet?.url === grants.jwksUrl ? keySet?.keys : undefined;
}

function keysFor(
  app: App & { readonly grants: AppGrants },
  algorithm: string,
  { header: { kid } }: UnverifiedJwt,
): readonly TokenKey[] {
  if (kid !== undefined && typeof kid !== 'string') return [];
  const fits = (key: ParsedKey) => key.algorithm === algorithm;
  let ofSet = parsed(keySetOf(app) ?? []).filter(fits);
  if (kid !== undefined) {
    // Keys without a `kid` come last, so that they cannot take the places of those that the token names.
    const named = ofSet.filter((key) => key.kid === kid);
    ofSet = [...named, ...ofSet.filter((key) => key.kid === undefined)];
  }
  return [...ofSet.slice(0, KEY_SET_TRIES_MAX), ...parsed(app.grants.publicKeys).filter(fits)];
}

function lackOf(
  app: App & { readonly grants: AppGrants },
  algorithm: string,
  { header: { kid } }: UnverifiedJwt,
): RefusedToken['lacks'] {
  if (app.grants.jwksUrl === null) return undefined;
  const keys = keySetOf(app);
  if (keys === undefined) return 'key-set';
  const isNamed = typeof kid === 'string';
  const isKnown = keys.some((key) => key.kid === kid && key.algorithm === algorithm);
  return isNamed && !isKnown ? 'kid' : undefined;
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
  const { patterns } = read;
  return { ok: true, ...user, patterns, endsAtSeconds: exp, origin, triedKeys: 0 };
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
  return { ok: false, result, why: `Invalid token: ${why}`, triedKeys: 0 };
}
