import { addressKey } from './ip-address.ts';
import { LogThrottle } from './log-throttle.ts';
import type { Rate } from './token-bucket.ts';

/** Of one kind of line about one app, one instance, or one client address. */
const RATE: Rate = { perSecond: 1, burst: 50 };

/** Of one kind of line about all addresses together: a stranger may have many. */
const RATE_OF_ADDRESSES: Rate = { perSecond: 10, burst: 200 };

type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

interface Lines {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/**
 * Whose line it is: the app's whose clients cause it, the instance's whose backend or devices do, or, where neither is
 * known, the address's.
 */
export interface Whose {
  readonly app?: string | undefined;
  readonly instance?: string | undefined;
  readonly address?: string | undefined;
}

/**
 * The log of what strangers and tenants can cause as often as they like. Each app, each instance and each address has a
 * rate for each kind of line, and a line says how many like it were left out. So nobody fills the disk, nor hides the
 * lines about others.
 */
export class StrangerLog {
  private readonly lines: Lines;
  private readonly byOwner: LogThrottle;
  private readonly byKind: LogThrottle;

  constructor(lines: Lines, clock: { now(): number }) {
    this.lines = lines;
    this.byOwner = new LogThrottle(clock, RATE);
    this.byKind = new LogThrottle(clock, RATE_OF_ADDRESSES);
  }

  info(message: string, whose: Whose, fields: Fields = {}): void {
    this.write('info', message, whose, fields);
  }

  warn(message: string, whose: Whose, fields: Fields = {}): void {
    this.write('warn', message, whose, fields);
  }

  error(message: string, whose: Whose, fields: Fields = {}): void {
    this.write('error', message, whose, fields);
  }

  private write(level: keyof Lines, message: string, whose: Whose, fields: Fields): void {
    const { app, instance, address } = whose;
    const line = { app, instance, address, ...fields };
    if (app !== undefined || instance !== undefined) {
      const tenant = app === undefined ? `instance ${instance}` : `app ${app}`;
      this.byOwner.run(`${message} of ${tenant}`, (throttled) =>
        this.lines[level](message, { ...line, ...throttled }),
      );
      return;
    }
    this.byOwner.run(`${message} of ${addressKey(address ?? '')}`, (ofAddress) =>
      this.byKind.run(message, (ofAll) => {
        const notLogged = (ofAddress.notLogged ?? 0) + (ofAll.notLogged ?? 0);
        this.lines[level](message, { ...line, ...(notLogged > 0 ? { notLogged } : {}) });
      }),
    );
  }
}
