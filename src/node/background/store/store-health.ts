import { SQL } from 'bun';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { Poller } from '../../../runtime/time/poller.ts';
import type { Database } from '../../../stores/database/database.ts';
import { isDamage, plainFault } from '../../../stores/database/faults.ts';
import type { StoreLock } from '../../../stores/database/store-lock.ts';
import type { Readiness, StoreUser } from '../../../transports/admin/readiness.ts';

const CHECK_INTERVAL_MS = 1000;

export interface StoreHealthOptions {
  readonly database: Pick<Database, 'lost' | 'write' | 'diskNote'>;
  readonly lock: Pick<StoreLock, 'lost'>;
  readonly readiness: Readiness;
  readonly log: Log;
  readonly timers: Timers;
}

/**
 * Tracks whether the store works. The parts that use it report errors; in addition it is checked every second. During
 * a fault the check also tries a write, to notice the end of the fault even if nothing else writes.
 */
export class StoreHealth implements AsyncDisposable {
  private readonly options: StoreHealthOptions;
  private readonly checking: Poller;
  /** The error that revealed damage. A damaged store stays damaged until it is restored. */
  private damage: unknown;

  constructor(options: StoreHealthOptions) {
    this.options = options;
    this.checking = new Poller(options.timers, () => this.check());
  }

  /**
   * Makes a reporter for one user of the store. It must be called with each error, and with `undefined` after each
   * success. It returns whether the state has changed.
   */
  reporter(user: StoreUser): (error: unknown) => boolean {
    return (error) => this.report(user, error);
  }

  /** Why the store cannot keep what the push API accepts, in plain English; `undefined` while it can. */
  fault(): string | undefined {
    const { readiness } = this.options;
    for (const user of ['store', 'push', 'instances'] as const) {
      const fault = readiness.storeFault(user);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Starts the checks. */
  watch(): void {
    this.checking.wakeLater(CHECK_INTERVAL_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.checking.stop();
  }

  private async check(): Promise<number> {
    const fault = await this.findFault();
    this.report('store', fault);
    // During a fault the push API answers 503 without trying, so it cannot notice the end itself.
    if (fault === undefined) this.report('push', undefined);
    return CHECK_INTERVAL_MS;
  }

  private async findFault(): Promise<unknown> {
    const { database, lock, readiness } = this.options;
    try {
      // Writes to a deleted file are lost.
      const lost = (await database.lost()) ?? lock.lost();
      if (lost !== undefined) return lost;
      // Parts of a damaged store can still be written, so a write would prove nothing.
      if (this.damage !== undefined || readiness.storeWorks) return this.damage;
      // SQLite skips updates that change nothing, so the row must change.
      await database.write(
        (sql) => sql`INSERT INTO revisions (what, revision) VALUES ('health', 1)
          ON CONFLICT (what) DO UPDATE SET revision = revisions.revision + 1`,
      );
      return undefined;
    } catch (error) {
      return error;
    }
  }

  private report(user: StoreUser, error: unknown): boolean {
    const { readiness, log } = this.options;
    const worked = readiness.storeWorks;
    if (isDamage(error)) this.damage ??= error;
    const note = error instanceof SQL.SQLError ? this.options.database.diskNote : '';
    const why = error === undefined ? undefined : `${plainFault(error)}${note}`;
    const hasChanged = readiness.setStore(user, why);
    if (worked && why !== undefined) {
      const exactly = error instanceof Error ? error.message : undefined;
      log.error('The store does not work', { why, exactly });
    }
    if (!worked && readiness.storeWorks) log.info('The store works again');
    return hasChanged;
  }
}
