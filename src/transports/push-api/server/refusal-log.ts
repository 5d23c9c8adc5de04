import { LogThrottle, type Throttled } from '../../../runtime/log-throttle.ts';
import type { Rate } from '../../../runtime/token-bucket.ts';

/** Lines about what was refused to one client, and to all together. */
const OF_CLIENT: Rate = { perSecond: 10, burst: 100 };
const OF_ALL: Rate = { perSecond: 100, burst: 1_000 };

/** Keeps what strangers cause from filling the log: neither one client does, nor many. */
export class RefusalLog {
  private readonly ofClient: LogThrottle;
  private readonly ofAll: LogThrottle;

  constructor(clock: { now(): number }) {
    this.ofClient = new LogThrottle(clock, OF_CLIENT);
    this.ofAll = new LogThrottle(clock, OF_ALL);
  }

  /** Runs `log`, or counts that it did not; the next line says how many were left out. */
  run(client: string, log: (throttled: Throttled) => void): void {
    this.ofClient.run(client, ({ notLogged = 0 }) => this.ofAll.run('', log, 1 + notLogged));
  }
}
