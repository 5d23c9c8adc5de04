import { type KeyObject, verify } from 'node:crypto';
import { readJwt } from '../jwt.ts';

/** A signing key that the fake accepts. */
export interface KnownKey {
  readonly teamId: string;
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

/** Apple accepts a token for an hour. Source: push protocol, §8.1. */
const VALID_SECONDS = 3600;

/** How far in the future a token may be issued. */
const AHEAD_SECONDS = 30;

/** Apple accepts no new token of a team sooner. Source: push protocol, §8.1. */
const RENEWAL_SECONDS = 20 * 60;

/** Tokens whose check is cached, so each signature is verified once. */
const TOKENS_MAX = 1000;

export type ApnsTokenFault =
  | 'MissingProviderToken'
  | 'InvalidProviderToken'
  | 'ExpiredProviderToken'
  | 'TooManyProviderTokenUpdates';

interface ReadToken {
  readonly teamId: string;
  readonly issuedAtSeconds: number;
}

/** Checks provider tokens as Apple does. Without keys, any signature is accepted. Source: push protocol, §8.1. */
export class ApnsTokenCheck {
  private readonly keys: readonly KnownKey[] | undefined;
  private readonly read = new Map<string, ReadToken | undefined>();
  /** When the newest token of each team was issued. */
  private readonly newest = new Map<string, number>();

  constructor(keys: readonly KnownKey[] | undefined) {
    this.keys = keys;
  }

  fault(authorization: string | undefined, nowMs: number): ApnsTokenFault | undefined {
    if (authorization === undefined) return 'MissingProviderToken';
    const token = this.tokenOf(authorization);
    if (token === undefined) return 'InvalidProviderToken';
    const nowSeconds = nowMs / 1000;
    const { issuedAtSeconds } = token;
    if (issuedAtSeconds > nowSeconds + AHEAD_SECONDS) return 'InvalidProviderToken';
    if (issuedAtSeconds <= nowSeconds - VALID_SECONDS) return 'ExpiredProviderToken';
    return this.renewalFault(token);
  }

  /** Counted from when tokens were issued, not from when they arrive: all servers of a team agree on that. */
  private renewalFault({ teamId, issuedAtSeconds }: ReadToken): ApnsTokenFault | undefined {
    const newest = this.newest.get(teamId);
    // Requests in flight during a renewal still have the previous token.
    if (newest !== undefined && issuedAtSeconds <= newest) return undefined;
    if (newest !== undefined && issuedAtSeconds - newest < RENEWAL_SECONDS) {
      return 'TooManyProviderTokenUpdates';
    }
    this.newest.set(teamId, issuedAtSeconds);
    return undefined;
  }

  private tokenOf(authorization: string): ReadToken | undefined {
    if (this.read.has(authorization)) return this.read.get(authorization);
    const token = this.readToken(authorization);
    if (this.read.size >= TOKENS_MAX) this.read.clear();
    this.read.set(authorization, token);
    return token;
  }

  private readToken(authorization: string): ReadToken | undefined {
    const [, token = ''] = /^bearer (\S+)$/.exec(authorization) ?? [];
    const jwt = readJwt(token);
    if (jwt?.header['alg'] !== 'ES256') return undefined;
    const { header, signed, signature } = jwt;
    const { iss, iat } = jwt.claims;
    if (typeof iss !== 'string' || typeof iat !== 'number') return undefined;
    const isSigned =
      this.keys === undefined ||
      this.keys.some(
        ({ teamId, keyId, publicKey }) =>
          teamId === iss &&
          keyId === header['kid'] &&
          verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature),
      );
    return isSigned ? { teamId: iss, issuedAtSeconds: iat } : undefined;
  }
}
