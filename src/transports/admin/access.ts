import { createHash, timingSafeEqual } from 'node:crypto';
import { addressKey } from '../../runtime/ip-address.ts';
import { RateLimiter } from '../../runtime/rate-limiter.ts';
import type { Rate } from '../../runtime/token-bucket.ts';
import type { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { cameThroughProxy, isFromAnotherSite, isLocal } from './origin-of-request.ts';
import type { RequestHead } from './request-head.ts';

export interface AccessOptions {
  /** `undefined`: nobody knows one, and nobody is let in. */
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

/** Why a request is not let in. */
export interface Denial {
  readonly reason: DenialReason;
  readonly status: 401 | 403 | 429;
  readonly error: string;
  readonly retryAfterSeconds?: number;
}

/** Who sends a request. */
export interface Sender {
  /** The client, as far as the proxies that the operator has named tell; otherwise the far end of the connection. */
  readonly address: string;
  /** What limits count it under. */
  readonly key: string;
  /** Whether a proxy that nobody has named passed the request on: clients behind it are not told apart. */
  readonly throughUnknownProxy: boolean;
}

/** Wrong passwords of one address. */
const WRONG_PASSWORDS: Rate = { perSecond: 10 / 60, burst: 10 };

/**
 * Decides who may use the admin API and metrics: who knows the password. Every request to it is checked here
 * before its body is read.
 */
export class Access {
  private readonly options: AccessOptions;
  /** What is left of the wrong passwords that each sender may try. */
  private readonly tries = new RateLimiter<string>();
  private known: { readonly password: string; readonly digest: Buffer } | undefined;

  constructor(options: AccessOptions) {
    this.options = options;
  }

  /**
   * Finds out who sends a request. What comes through a proxy has a key of its own: strangers behind a proxy on this
   * machine must not use up the tries of the command line beside it.
   */
  senderOf(head: RequestHead): Sender {
    const { trustedProxies } = this.options;
    const address = trustedProxies.clientOf(head.peer, {
      xForwardedFor: head.header('x-forwarded-for'),
      forwarded: head.header('forwarded'),
    });
    const isNamed = address !== head.peer;
    const isProxied = cameThroughProxy(head);
    const way = isNamed ? 'client' : isProxied || isFromAnotherSite(head) ? 'through' : 'direct';
    return {
      address,
      key: `${way} ${addressKey(address)}`,
      throughUnknownProxy: isProxied && !trustedProxies.trusts(head.peer),
    };
  }

  /** `undefined`: the request is let in. */
  check(head: RequestHead, sender: Sender): Denial | undefined {
    if (head.method !== 'GET' && isFromAnotherSite(head)) {
      return {
        reason: 'other-site',
        status: 403,
        error: 'Pages of other sites may not change anything here',
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
              'A password is needed: Authorization: Bearer PASSWORD. "fanfare admin password" shows it',
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
        error: 'Too many wrong passwords came from this address; try again later',
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

/** The password of `Bearer PASSWORD`, or of Basic with any user name: its bytes. */
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

/** Of one length, so that the comparison does not tell how long the password is. */
function digest(password: string | Buffer): Buffer {
  return createHash('sha256').update(password).digest();
}
