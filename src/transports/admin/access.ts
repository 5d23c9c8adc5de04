import { createHash, timingSafeEqual } from 'node:crypto';
import { addressKey } from '../../runtime/ip-address.ts';
import { RateLimiter } from '../../runtime/rate-limiter.ts';
import type { Rate } from '../../runtime/token-bucket.ts';
import type { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { cameThroughProxy, isFromAnotherSite, isLocal } from './origin-of-request.ts';
import type { RequestHead } from './request-head.ts';

export interface AccessOptions {
  /** `undefined` if there is none: every request is denied. */
  readonly password: () => string | undefined;
  /** Whether programs on this machine may read metrics without the password. */
  readonly metricsAreOpen: boolean;
  readonly trustedProxies: TrustedProxies;
  /** A clock that only goes forward. Milliseconds. */
  readonly now: () => number;
}

export type DenialReason =
  | 'password-missing'
  | 'password-wrong'
  | 'too-many-wrong-passwords'
  | 'other-site';

/** Why a request is denied. */
export interface Denial {
  readonly reason: DenialReason;
  readonly status: 401 | 403 | 429;
  readonly error: string;
  readonly retryAfterSeconds?: number;
}

/** The client that sent a request. */
export interface Sender {
  /** The address of the client as reported by trusted proxies, else the far end of the connection. */
  readonly address: string;
  /** The key by which limits count the client. */
  readonly key: string;
  /** Whether the request came through a proxy that is not in `trustedProxies`. Clients behind it share one address. */
  readonly throughUnknownProxy: boolean;
}

/** Wrong passwords that one client may try. */
const WRONG_PASSWORDS: Rate = { perSecond: 10 / 60, burst: 10 };

/**
 * Decides who may use the admin API and read metrics. Every request is checked before its body is read.
 */
export class Access {
  private readonly options: AccessOptions;
  /** The wrong passwords that each client may still try. */
  private readonly tries = new RateLimiter<string>();
  private known: { readonly password: string; readonly digest: Buffer } | undefined;

  constructor(options: AccessOptions) {
    this.options = options;
  }

  /**
   * Finds the client of a request. Requests through a proxy have a key of their own: strangers behind a proxy on this
   * machine must not use up the tries of the command line on it.
   */
  senderOf(head: RequestHead): Sender {
    const { trustedProxies } = this.options;
    const address = trustedProxies.clientOf(head.peer, {
      xForwardedFor: head.header('x-forwarded-for'),
      forwarded: head.header('forwarded'),
    });
    const isTrusted = address !== head.peer;
    const isProxied = cameThroughProxy(head);
    const route = isTrusted
      ? 'client'
      : isProxied || isFromAnotherSite(head)
        ? 'through'
        : 'direct';
    return {
      address,
      key: `${route} ${addressKey(address)}`,
      throughUnknownProxy: isProxied && !trustedProxies.trusts(head.peer),
    };
  }

  /** Returns why the request is denied; `undefined` if it is allowed. */
  check(head: RequestHead, sender: Sender): Denial | undefined {
    if (head.method !== 'GET' && isFromAnotherSite(head)) {
      return {
        reason: 'other-site',
        status: 403,
        error: 'Pages of other sites cannot change anything here',
      };
    }
    const authorization = head.header('authorization');
    if (authorization === undefined) {
      return this.mayReadWithoutPassword(head)
        ? undefined
        : {
            reason: 'password-missing',
            status: 401,
            error:
              'The password is missing: send Authorization: Bearer PASSWORD. "fanfare admin password" shows it',
          };
    }
    return this.checkPassword(passwordIn(authorization), sender);
  }

  private mayReadWithoutPassword(head: RequestHead): boolean {
    const { metricsAreOpen } = this.options;
    const { method, target } = head;
    return metricsAreOpen && method === 'GET' && target.path === '/metrics' && isLocal(head);
  }

  private checkPassword(given: Buffer | undefined, { key }: Sender): Denial | undefined {
    const nowMs = this.options.now();
    if (!this.tries.has(key, WRONG_PASSWORDS, nowMs)) {
      return {
        reason: 'too-many-wrong-passwords',
        status: 429,
        error: 'Too many wrong passwords from this address; try again later',
        retryAfterSeconds: Math.ceil(1 / WRONG_PASSWORDS.perSecond),
      };
    }
    if (given !== undefined && this.isRight(given)) return undefined;
    this.tries.take(key, WRONG_PASSWORDS, nowMs);
    return { reason: 'password-wrong', status: 401, error: 'The password is wrong' };
  }

  private isRight(given: Buffer): boolean {
    const password = this.options.password();
    if (password === undefined) return false;
    if (this.known?.password !== password) this.known = { password, digest: digest(password) };
    return timingSafeEqual(digest(given), this.known.digest);
  }
}

/** The bytes of the password in `Bearer PASSWORD`, or in Basic with any user name. */
function passwordIn(authorization: string): Buffer | undefined {
  const [, scheme = '', rest = ''] = /^(\w+) +(\S.*)$/.exec(authorization) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      // Each byte of a header is one character.
      return Buffer.from(rest, 'latin1');
    case 'basic': {
      const pair = Buffer.from(rest, 'base64');
      const colon = pair.indexOf(':');
      return colon < 0 ? undefined : pair.subarray(colon + 1);
    }
    default:
      return undefined;
  }
}

/** Hashes a password to a fixed length, so that the comparison does not reveal its length. */
function digest(password: string | Buffer): Buffer {
  return createHash('sha256').update(password).digest();
}
