import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';

/** How long a session lasts. Milliseconds. */
const SESSION_MS = 12 * 3_600_000;

/** How long a log-in link can be used. Milliseconds. */
const LINK_MS = 600_000;

/**
 * The cookie of a session. Browsers take the first two names only over HTTPS, and the first only from this host and for all
 * of its paths.
 */
const HOST_NAME = '__Host-fanfare';
const SECURE_NAME = '__Secure-fanfare';
const PLAIN_NAME = 'fanfare';

export interface BrowserSessionsOptions {
  /** `undefined` if there is no password, and so no sessions. */
  readonly password: () => string | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The only path that browsers send the cookie to; empty for all. */
  readonly path?: string | undefined;
}

/**
 * The sessions of browsers. A session is a signed cookie and is stored nowhere. Its key is derived from the password,
 * so servers with the same password share sessions, and a new password invalidates all of them.
 */
export class BrowserSessions {
  private readonly options: BrowserSessionsOptions;
  private known: { readonly password: string; readonly key: Buffer } | undefined;
  private link: { readonly token: string; readonly endsAtMs: number } | undefined;

  constructor(options: BrowserSessionsOptions) {
    this.options = options;
  }

  /** The `Set-Cookie` headers of a new session: none if there is no password. */
  open({ isSecure }: { readonly isSecure: boolean }): string[] {
    const key = this.key();
    if (key === undefined) return [];
    const endsAtMs = this.options.now() + SESSION_MS;
    const text = `${endsAtMs.toString(36)}.${randomBytes(12).toString('base64url')}`;
    const value = `${text}.${sign(text, key)}`;
    return [
      this.cookie(value, { isSecure, seconds: SESSION_MS / 1000 }),
      // A session that began over HTTP is replaced: its cookie may have been read on the way.
      ...(isSecure ? [this.forgotten({ isSecure: false })] : []),
    ];
  }

  /**
   * The `Set-Cookie` headers that make a browser forget its session, whichever way it began. Over HTTP, browsers neither
   * send nor change a cookie for HTTPS.
   */
  close({ isSecure }: { readonly isSecure: boolean }): string[] {
    return (isSecure ? [true, false] : [false]).map((isSecure) => this.forgotten({ isSecure }));
  }

  /** Whether a `Cookie` header has a session that is open. */
  isOpen(cookies: string): boolean {
    const value = this.valueIn(cookies);
    const [, text = '', ends = '', signature = ''] =
      /^(([\da-z]{1,11})\.[\w-]{16})\.([\w-]{43})$/.exec(value ?? '') ?? [];
    if (!(Number.parseInt(ends, 36) > this.options.now())) return false;
    const key = this.key();
    return key !== undefined && isSame(signature, sign(text, key));
  }

  /** Whether a `Cookie` header contains a session, valid or expired. */
  hasCookie(cookies: string): boolean {
    return this.valueIn(cookies) !== undefined;
  }

  /** Makes the token of a link that logs in once. It invalidates earlier links. */
  makeLink(): string {
    const token = randomBytes(24).toString('base64url');
    this.link = { token, endsAtMs: this.options.now() + LINK_MS };
    return token;
  }

  /** Whether a token is that of the link. Uses it up. */
  useLink(token: string): boolean {
    const { link } = this;
    if (link === undefined || this.options.now() >= link.endsAtMs) return false;
    if (!isSame(token, link.token)) return false;
    this.link = undefined;
    return true;
  }

  private get secureName(): string {
    return this.options.path ? SECURE_NAME : HOST_NAME;
  }

  private valueIn(cookies: string): string | undefined {
    return cookieValue(cookies, this.secureName) ?? cookieValue(cookies, PLAIN_NAME);
  }

  private forgotten({ isSecure }: { readonly isSecure: boolean }): string {
    return this.cookie('', { isSecure, seconds: 0 });
  }

  private cookie(
    value: string,
    { isSecure, seconds }: { readonly isSecure: boolean; readonly seconds: number },
  ): string {
    const name = isSecure ? this.secureName : PLAIN_NAME;
    const rules = `Path=${this.options.path || '/'}; Max-Age=${seconds}; HttpOnly; SameSite=Strict`;
    return `${name}=${value}; ${rules}${isSecure ? '; Secure' : ''}`;
  }

  private key(): Buffer | undefined {
    const password = this.options.password();
    if (password === undefined) return undefined;
    if (this.known?.password !== password) {
      // Deliberately slow (about 50 ms, once): a stolen cookie must not allow guessing a short password.
      this.known = { password, key: scryptSync(password, 'fanfare sessions', 32) };
    }
    return this.known.key;
  }
}

function cookieValue(cookies: string, name: string): string | undefined {
  for (const pair of cookies.split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

function sign(text: string, key: Buffer): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** Compares in a time that depends on the length only. */
function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
