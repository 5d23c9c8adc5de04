import { createHash, timingSafeEqual } from 'node:crypto';
import { type Caller, LOCAL, OWNER } from '../../runtime/caller.ts';
import { addressKey } from '../../runtime/ip-address.ts';
import { RateLimiter } from '../../runtime/rates/rate-limiter.ts';
import type { Rate } from '../../runtime/rates/token-bucket.ts';
import type { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { cameThroughProxy, isFromAnotherSite, isLocal } from './origin-of-request.ts';
import type { AdminRequestHead } from './request-head.ts';
import type { BrowserSessions } from './sessions.ts';

/** A proxy that checks users itself and names them in headers. */
export interface UserProxy {
  /** Only these may name a user. */
  readonly trusted: TrustedProxies;
  /** In lower case. */
  readonly userHeader: string;
  /** In lower case; `undefined` if the proxy names no groups. */
  readonly groupsHeader: string | undefined;
  readonly groupsSeparator: string;
}

export interface AccessOptions {
  /** `undefined` if there is none: every request is denied. */
  readonly password: () => string | undefined;
  /** Whether programs on this machine may read metrics without the password. */
  readonly metricsAreOpen: boolean;
  readonly trustedProxies: TrustedProxies;
  readonly sessions: BrowserSessions;
  readonly userProxy?: UserProxy | undefined;
  /** A clock that only goes forward. Milliseconds. */
  readonly now: () => number;
}

export type DenialReason =
  | 'password-missing'
  | 'password-wrong'
  | 'too-many-wrong-passwords'
  | 'session-over'
  | 'other-site';

/** Why a request is denied. */
export interface Denial {
  readonly reason: DenialReason;
  readonly status: 401 | 403 | 429;
  readonly error: string;
  readonly retryAfterSeconds?: number;
}

/** What a log-in page sends: the password, or the token of a log-in link. */
export type LogIn = { readonly password: string } | { readonly token: string };

/** Who sent a request, or why it is denied. */
export type Identified =
  | { readonly caller: Caller; readonly denial?: undefined }
  | { readonly caller?: undefined; readonly denial: Denial };

const OTHER_SITE = { reason: 'other-site', status: 403 } as const;

const PASSWORD_MISSING: Denial = {
  reason: 'password-missing',
  status: 401,
  error:
    'The password is missing: send Authorization: Bearer PASSWORD. "fanfare admin password" shows it',
};

const SESSION_OVER: Denial = {
  reason: 'session-over',
  status: 401,
  error: 'The session is over: log in again',
};

/** The client that sent a request. */
export interface RequestSender {
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
  senderOf(head: AdminRequestHead): RequestSender {
    const { trustedProxies } = this.options;
    const address = trustedProxies.clientOf(head.peer, {
      xForwardedFor: head.header('x-forwarded-for'),
      forwarded: head.header('forwarded'),
    });
    const isTrusted = address !== head.peer;
    const isProxied = cameThroughProxy(head);
    const untrusted = isProxied || isFromAnotherSite(head) ? 'through' : 'direct';
    const route = isTrusted ? 'client' : untrusted;
    return {
      address,
      key: `${route} ${addressKey(address)}`,
      throughUnknownProxy: isProxied && !trustedProxies.trusts(head.peer),
    };
  }

  /**
   * Whether a browser reaches this listener over HTTPS. The origin of its page says so, which only the browser can set.
   * Without one, a proxy in `trustedProxies` may say so.
   */
  isOverHttps(head: AdminRequestHead): boolean {
    const scheme = /^(https?):/.exec(head.header('origin') ?? '')?.[1];
    if (scheme !== undefined) return scheme === 'https';
    return this.options.trustedProxies.saysHttps(head.peer, {
      xForwardedProto: head.header('x-forwarded-proto'),
      forwarded: head.header('forwarded'),
    });
  }

  /** Finds who sent a request, or why it is denied. */
  identify(head: AdminRequestHead, sender: RequestSender): Identified {
    const denied = this.denyOtherSites(head);
    if (denied !== undefined) return { denial: denied };
    const user = this.userOf(head);
    // First, because some proxies add a password of their own to forwarded requests.
    if (user !== undefined) return onlySameSite(head, user);
    const authorization = head.header('authorization');
    if (authorization !== undefined) {
      const denial = this.checkPassword(passwordIn(authorization), sender);
      return denial === undefined ? { caller: OWNER } : { denial };
    }
    const cookies = head.header('cookie') ?? '';
    if (this.options.sessions.isOpen(cookies)) return onlySameSite(head, OWNER);
    if (this.mayReadWithoutPassword(head)) return { caller: LOCAL };
    return { denial: this.options.sessions.hasCookie(cookies) ? SESSION_OVER : PASSWORD_MISSING };
  }

  /**
   * Whether the sender of a request would still be admitted: a session may have expired, or the password may have
   * changed.
   */
  isStillIdentified(head: AdminRequestHead): boolean {
    const authorization = head.header('authorization');
    if (this.userOf(head) !== undefined) return true;
    if (authorization === undefined)
      return this.options.sessions.isOpen(head.header('cookie') ?? '');
    const given = passwordIn(authorization);
    return given !== undefined && this.isRight(given);
  }

  /** Denies changes requested by pages of other sites, even if no password is needed. */
  denyOtherSites(head: AdminRequestHead): Denial | undefined {
    return head.method !== 'GET' && isFromAnotherSite(head)
      ? { ...OTHER_SITE, error: 'Pages of other sites may not change anything' }
      : undefined;
  }

  /** Whether a request names a user although its sender is no proxy that may. The name does not count. */
  hasUntrustedUser(head: AdminRequestHead): boolean {
    const { userProxy } = this.options;
    return (
      userProxy !== undefined &&
      head.header(userProxy.userHeader) !== undefined &&
      !userProxy.trusted.trusts(head.peer)
    );
  }

  /** Checks a log-in. Returns why it is denied, if it is. */
  checkLogIn(given: LogIn, sender: RequestSender): Denial | undefined {
    const { sessions } = this.options;
    const isRight =
      'token' in given
        ? () => sessions.useLink(given.token)
        : () => this.isRight(Buffer.from(given.password));
    return this.limited(sender, isRight);
  }

  private userOf(head: AdminRequestHead): Caller | undefined {
    const { userProxy } = this.options;
    if (userProxy === undefined || !userProxy.trusted.trusts(head.peer)) return undefined;
    const { userHeader, groupsHeader, groupsSeparator } = userProxy;
    const user = head.header(userHeader)?.trim() ?? '';
    if (user === '') return undefined;
    const groups = groupsHeader === undefined ? '' : (head.header(groupsHeader) ?? '');
    return {
      how: 'proxy',
      user: textOf(user),
      groups: groups.split(groupsSeparator).flatMap((group) => textOf(group.trim()) || []),
    };
  }

  private mayReadWithoutPassword(head: AdminRequestHead): boolean {
    const { metricsAreOpen } = this.options;
    const { method, target } = head;
    return metricsAreOpen && method === 'GET' && target.path === '/metrics' && isLocal(head);
  }

  private checkPassword(given: Buffer | undefined, sender: RequestSender): Denial | undefined {
    return this.limited(sender, () => given !== undefined && this.isRight(given));
  }

  /** Checks what may be wrong only so often. */
  private limited({ key }: RequestSender, isRight: () => boolean): Denial | undefined {
    const nowMs = this.options.now();
    if (!this.tries.has(key, WRONG_PASSWORDS, nowMs)) {
      return {
        reason: 'too-many-wrong-passwords',
        status: 429,
        error: 'Too many wrong passwords from this address; try again later',
        retryAfterSeconds: Math.ceil(1 / WRONG_PASSWORDS.perSecond),
      };
    }
    if (isRight()) return undefined;
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

/** Browsers add cookies, and proxies users, to requests of any page. So pages of other sites read nothing either. */
function onlySameSite(head: AdminRequestHead, caller: Caller): Identified {
  return isFromAnotherSite(head)
    ? { denial: { ...OTHER_SITE, error: 'Pages of other sites may not read anything' } }
    : { caller };
}

/** Decodes a header whose bytes are UTF-8, delivered as one character per byte. */
function textOf(header: string): string {
  return Buffer.from(header, 'latin1').toString('utf8');
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
