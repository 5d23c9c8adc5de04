import { addressKey } from '../ip-address.ts';
import type { LogFields } from '../ports.ts';
import type { Rate } from '../rates/token-bucket.ts';
import { LogThrottle } from './log-throttle.ts';

/** One kind of line about one app, instance or client address. */
const RATE: Rate = { perSecond: 1, burst: 50 };

/** One kind of line about all addresses together: an attacker may have many. */
const RATE_OF_ADDRESSES: Rate = { perSecond: 10, burst: 200 };

/** One kind of line about all apps or instances together: attackers may know the keys of many. */
const RATE_OF_TENANTS: Rate = { perSecond: 100, burst: 2_000 };

/** Pairs of tenant and kind of line with a rate of their own. */
const TENANT_LINES_MAX = 10_000;

interface Lines {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/**
 * Who causes a line: the clients of an app, the backend or devices of an instance, or, if neither is known, a client
 * address.
 */
export interface Whose {
  readonly app?: string | undefined;
  readonly instance?: string | undefined;
  readonly address?: string | undefined;
}

/** Limits for each owner and for all owners together. */
interface Throttles {
  readonly byOwner: LogThrottle;
  readonly byKind: LogThrottle;
}

/**
 * A log for lines that clients and tenants can cause as often as they like. Each app, instance and address has a rate for
 * each kind of line, and a line says how many like it were left out. So none can fill the disk or crowd out lines about
 * others. Tenants and addresses are counted apart, because an attacker may have any number of addresses.
 */
export class RateLimitedLog {
  private readonly lines: Lines;
  private readonly ofTenants: Throttles;
  private readonly ofAddresses: Throttles;

  constructor(lines: Lines, clock: { now(): number }) {
    this.lines = lines;
    this.ofTenants = {
      byOwner: new LogThrottle(clock, RATE, TENANT_LINES_MAX),
      byKind: new LogThrottle(clock, RATE_OF_TENANTS),
    };
    this.ofAddresses = {
      byOwner: new LogThrottle(clock, RATE),
      byKind: new LogThrottle(clock, RATE_OF_ADDRESSES),
    };
  }

  info(message: string, whose: Whose, fields: LogFields = {}): void {
    this.write('info', message, whose, fields);
  }

  warn(message: string, whose: Whose, fields: LogFields = {}): void {
    this.write('warn', message, whose, fields);
  }

  error(message: string, whose: Whose, fields: LogFields = {}): void {
    this.write('error', message, whose, fields);
  }

  private write(level: keyof Lines, message: string, whose: Whose, fields: LogFields): void {
    const { app, instance, address } = whose;
    const isOfTenant = app !== undefined || instance !== undefined;
    const throttles = isOfTenant ? this.ofTenants : this.ofAddresses;
    const owner = isOfTenant ? `${app} ${instance}` : addressKey(address ?? '');
    const line = { app, instance, address, ...fields };
    throttles.byOwner.run(`${message} of ${owner}`, ({ notLogged = 0 }) =>
      throttles.byKind.run(
        message,
        (throttled) => this.lines[level](message, { ...line, ...throttled }),
        1 + notLogged,
      ),
    );
  }
}
