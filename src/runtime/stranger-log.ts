import { addressKey } from './ip-address.ts';
import { LogThrottle } from './log-throttle.ts';
import type { Rate } from './token-bucket.ts';

/** Of one kind of line about one app, or one client address. */
const RATE: Rate = { perSecond: 1, burst: 50 };

/** Of one kind of line about all addresses together: a stranger may have many. */
const RATE_OF_ADDRESSES: Rate = { perSecond: 10, burst: 200 };

/** Of one kind of line about all apps together: strangers know the keys of many, and an operator reads about each. */
const RATE_OF_APPS: Rate = { perSecond: 100, burst: 2_000 };

/** Apps, times kinds of lines, that have a rate of their own. */
const APP_LINES_MAX = 10_000;

type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

interface Lines {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** Whose line it is: the app's whose clients cause it, or, where no app is known, the address's. */
export interface Whose {
  readonly app?: string | undefined;
  readonly address?: string | undefined;
}

/** Each owner has a rate for each kind of line, and so have all of them together. */
interface Throttles {
  readonly byOwner: LogThrottle;
  readonly byKind: LogThrottle;
}

/**
 * The log of what strangers can cause as often as they like. Each app and each address has a rate for each kind of
 * line, and a line says how many like it were left out. So nobody fills the disk, nor hides the lines about others.
 * Apps and addresses are remembered apart: a stranger may have any number of addresses.
 */
export class StrangerLog {
  private readonly lines: Lines;
  private readonly ofApps: Throttles;
  private readonly ofAddresses: Throttles;

  constructor(lines: Lines, clock: { now(): number }) {
    this.lines = lines;
    this.ofApps = {
      byOwner: new LogThrottle(clock, RATE, APP_LINES_MAX),
      byKind: new LogThrottle(clock, RATE_OF_APPS),
    };
    this.ofAddresses = {
      byOwner: new LogThrottle(clock, RATE),
      byKind: new LogThrottle(clock, RATE_OF_ADDRESSES),
    };
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
    const { app, address } = whose;
    const [throttles, owner] =
      app === undefined ? [this.ofAddresses, addressKey(address ?? '')] : [this.ofApps, app];
    throttles.byOwner.run(`${message} of ${owner}`, ({ notLogged = 0 }) =>
      throttles.byKind.run(
        message,
        (throttled) => this.lines[level](message, { app, address, ...fields, ...throttled }),
        1 + notLogged,
      ),
    );
  }
}
