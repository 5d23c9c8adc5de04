import { type KeyObject, verify } from 'node:crypto';
import { isJsonObject, type JsonObject, readJsonObject } from '../../runtime/json-object.ts';

/** A key that a fake Apple knows. */
export interface KnownKey {
  readonly teamId: string;
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

/** Apple takes a token for an hour. Source: push protocol, §8.1. */
const VALID_SECONDS = 3600;

/** How far in the future a token may begin. */
const AHEAD_SECONDS = 30;

/** Apple wants no new token of a team sooner. Source: push protocol, §8.1. */
const RENEWAL_SECONDS = 20 * 60;

/** Tokens that were looked at once; each has one signature to check, however often it comes. */
const TOKENS_MAX = 1000;

export type TokenFault =
  | 'MissingProviderToken'
  | 'InvalidProviderToken'
  | 'ExpiredProviderToken'
  | 'TooManyProviderTokenUpdates';

interface ReadToken {
  readonly teamId: string;
  readonly issuedAtSeconds: number;
}

/** Looks at who sends, as Apple does. Without keys, any signature will do. Source: push protocol, §8.1. */
export class ApnsTokenCheck {
  private readonly keys: readonly KnownKey[] | undefined;
  private readonly read = new Map<string, ReadToken | undefined>();
  /** When the newest token of each team was issued. */
  private readonly newest = new Map<string, number>();

  constructor(keys: readonly KnownKey[] | undefined) {
    this.keys = keys;
  }

  fault(authorization: string | undefined, nowMs: number): TokenFault | undefined {
    if (authorization === undefined) return 'MissingProviderToken';
    const token = this.tokenOf(authorization);
    if (token === undefined) return 'InvalidProviderToken';
    const nowSeconds = nowMs / 1000;
    const { issuedAtSeconds } = token;
    if (issuedAtSeconds > nowSeconds + AHEAD_SECONDS) return 'InvalidProviderToken';
    if (issuedAtSeconds <= nowSeconds - VALID_SECONDS) return 'ExpiredProviderToken';
    return this.renewalFault(token);
  }

  /** What counts is when tokens were issued, not when they come: servers of one team that start at any time agree on it. */
  private renewalFault({ teamId, issuedAtSeconds }: ReadToken): TokenFault | undefined {
    const newest = this.newest.get(teamId);
    // Requests that were under way come late, with the one before.
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
    const [, head = '', body = '', signature = ''] =
      /^bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization) ?? [];
    const header = decodePart(head);
    const claims = decodePart(body);
    if (header?.['alg'] !== 'ES256' || !isJsonObject(claims)) return undefined;
    const { iss, iat } = claims;
    if (typeof iss !== 'string' || typeof iat !== 'number') return undefined;
    const signed = Buffer.from(`${head}.${body}`);
    const isSigned =
      this.keys === undefined ||
      this.keys.some(
        ({ teamId, keyId, publicKey }) =>
          teamId === iss &&
          keyId === header['kid'] &&
          verify(
            'sha256',
            signed,
            { key: publicKey, dsaEncoding: 'ieee-p1363' },
            Buffer.from(signature, 'base64url'),
          ),
      );
    return isSigned ? { teamId: iss, issuedAtSeconds: iat } : undefined;
  }
}

function decodePart(part: string): JsonObject | undefined {
  return readJsonObject(Buffer.from(part, 'base64url'));
}
