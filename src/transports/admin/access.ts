import { createHash, timingSafeEqual } from 'node:crypto';

export interface AccessSettings {
  /** Where the listener is bound. */
  readonly host: string;
  /** `null`: none is set. */
  readonly password: string | null;
}

/** Why a request is not let in. */
export interface Denied {
  readonly status: 401 | 403;
  readonly error: string;
}

/** What a proxy adds: who is behind it is not on this machine. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * Decides who may use the admin listener: with a password whoever knows it, without one whoever is on this
 * machine. A page in a browser on this machine is not let in under a name of its own (DNS rebinding).
 */
export class Access {
  private readonly settings: AccessSettings;
  private readonly password: Buffer | undefined;

  constructor(settings: AccessSettings) {
    this.settings = settings;
    this.password = settings.password === null ? undefined : digest(settings.password);
  }

  /** Without a password, and open to others: nobody is let in. */
  get isShut(): boolean {
    return this.password === undefined && !isLoopback(this.settings.host);
  }

  /** `undefined`: it is let in. */
  check(headers: Headers): Denied | undefined {
    if (this.password !== undefined) {
      const given = passwordIn(headers.get('authorization') ?? '');
      if (given === undefined) {
        return { status: 401, error: 'A password is needed: Authorization: Bearer PASSWORD' };
      }
      return timingSafeEqual(digest(given), this.password)
        ? undefined
        : { status: 401, error: 'The password is wrong' };
    }
    if (this.isShut) {
      return {
        status: 403,
        error: `Set admin.password: without one, only a listener on a loopback address answers, and this one is on ${this.settings.host}`,
      };
    }
    const host = hostName(headers.get('host') ?? '');
    if (!isLoopback(host) && host !== this.settings.host.toLowerCase()) {
      return {
        status: 403,
        error: 'Without admin.password, the Host header must name this machine, like 127.0.0.1',
      };
    }
    if (PROXY_HEADERS.some((name) => headers.has(name))) {
      return { status: 403, error: 'Set admin.password: this request came through a proxy' };
    }
    return undefined;
  }
}

/** The password of `Bearer PASSWORD`, or of Basic with any user name: its bytes. */
function passwordIn(authorization: string): Buffer | undefined {
  const [, scheme = '', rest = ''] = /^(\w+) +(\S.*)$/.exec(authorization) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      // Bun gives each byte of a header as one character.
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

function hostName(host: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? plain ?? '').toLowerCase();
}

function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}
