import type { Log, Timers } from '../../runtime/ports.ts';
import type { Database } from '../../stores/database/database.ts';
import { isDamage, plainFault } from '../../stores/database/faults.ts';
import type { StoreLock } from '../../stores/database/store-lock.ts';
import type { Readiness, StoreUser } from '../../transports/admin/readiness.ts';

/** Milliseconds between two looks at the store. */
const LOOK_INTERVAL_MS = 1000;

export interface StoreHealthOptions {
  readonly database: Pick<Database, 'lost' | 'write'>;
  readonly lock: Pick<StoreLock, 'lost'>;
  readonly readiness: Readiness;
  readonly log: Log;
  readonly timers: Timers;
}

/**
 * Knows whether the store works: from those who use it, and by looking itself. While anything is at fault it
 * tries a write of its own, so that it hears of the end of the trouble even where nobody else tries.
 */
export class StoreHealth implements AsyncDisposable {
  private readonly options: StoreHealthOptions;
  private cancel: (() => void) | undefined;
  private looking: Promise<void> = Promise.resolve();
  private ended = false;
  /** What showed that the store is damaged, which it is until it is restored. */
  private damage: unknown;

  constructor(options: StoreHealthOptions) {
    this.options = options;
  }

  /**
   * For one user of the store, who tells it each error, and `undefined` when the store has worked. Gives
   * whether that is news of that user.
   */
  toldBy(user: StoreUser): (error: unknown) => boolean {
    return (error) => this.hear(user, error);
  }

  /** Why nobody should be promised that something is kept, in plain words; `undefined` where it can be. */
  fault(): string | undefined {
    const { readiness } = this.options;
    for (const user of ['store', 'push', 'instances'] as const) {
      const fault = readiness.storeFault(user);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Looks from now on, once each second. */
  watch(): void {
    if (this.ended) return;
    this.cancel = this.options.timers.after(LOOK_INTERVAL_MS, () => {
      this.looking = this.look().then(() => this.watch());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ended = true;
    this.cancel?.();
    await this.looking;
  }

  private async look(): Promise<void> {
    const fault = await this.find();
    this.hear('store', fault);
    // It asks whoever uses it to come back later, and has nothing of its own to try again.
    if (fault === undefined) this.hear('push', undefined);
  }

  private async find(): Promise<unknown> {
    const { database, lock, readiness } = this.options;
    try {
      // What is written to a file that has no name any more is lost.
      const lost = (await database.lost()) ?? lock.lost();
      if (lost !== undefined) return lost;
      // What is not damaged can still be written, which mends nothing.
      if (this.damage !== undefined || readiness.storeWorks) return this.damage;
      // SQLite writes nothing where a row stays as it was.
      await database.write(
        (sql) => sql`INSERT INTO revisions (what, revision) VALUES ('health', 1)
          ON CONFLICT (what) DO UPDATE SET revision = revisions.revision + 1`,
      );
      return undefined;
    } catch (error) {
      return error;
    }
  }

  private hear(user: StoreUser, error: unknown): boolean {
    const { readiness, log } = this.options;
    const worked = readiness.storeWorks;
    if (isDamage(error)) this.damage ??= error;
    const why = error === undefined ? undefined : plainFault(error);
    const isNews = readiness.setStore(user, why);
    if (worked && why !== undefined) {
      const exactly = error instanceof Error ? error.message : undefined;
      log.error('The store does not work', { why, exactly });
    }
    if (!worked && readiness.storeWorks) log.info('The store works again');
    return isNews;
  }
}
