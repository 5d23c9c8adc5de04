import {
  REVOCATION_KEPT_MS,
  type Revocation,
  Revocations,
} from '../channels/grants/revocations.ts';
import { messageOf } from '../runtime/error-code.ts';
import { Mutex } from '../runtime/mutex.ts';
import type { Clock, Log, Timers } from '../runtime/ports.ts';
import { every } from '../runtime/time/every.ts';
import { PatientClock } from '../runtime/time/patient-clock.ts';
import type { RevocationPage, RevocationStore } from '../stores/tenants/revocation-store.ts';

/** The interval of deleting old ones. */
const FORGET_MS = 3_600_000;

/** How many pieces of old ones are deleted each time. */
const FORGOTTEN_PIECES = 20;

/** What the realtime loops learn. */
export interface RevocationChange {
  /** Apps whose earlier revocations hold no longer. */
  readonly forgotten: readonly string[];
  readonly added: readonly Revocation[];
}

export interface LiveRevocationsOptions {
  readonly store: RevocationStore;
  readonly timers: Timers;
  /** A clock that is never set. */
  readonly monotonic: Clock;
  readonly log: Log;
}

/**
 * What is revoked of the grants of all apps. Follows the store, which other processes change too, with the question that the
 * apps are followed by.
 */
export class LiveRevocations implements Disposable {
  /** Those of now. */
  readonly known: Revocations;
  private readonly options: LiveRevocationsOptions;
  private readonly retentionClock: PatientClock;
  /** The revision up to which the store was read. */
  private revision = 0;
  /** What is read is read and passed on in one order. */
  private readonly turns = new Mutex();
  private changed: ((change: RevocationChange) => void) | undefined;
  private readonly stop: () => void;

  constructor(options: LiveRevocationsOptions) {
    const { timers, monotonic } = options;
    this.options = options;
    this.known = new Revocations(timers);
    this.retentionClock = new PatientClock({ system: timers, monotonic });
    this.stop = every(timers, FORGET_MS, () => void this.forgetOld());
  }

  /** Reports each change from now on. */
  follow(changed: (change: RevocationChange) => void): void {
    this.changed = changed;
  }

  /** The revision of apps. First reads what is new of revocations: one question tells both. */
  async revisionOfApps(): Promise<number> {
    const { apps, revocations } = await this.options.store.revisions();
    if (revocations !== this.revision) await this.readNew(revocations);
    return apps;
  }

  /** Revokes something. Settles when it is durable and reported. Throws what the store throws. */
  async revoke(revocation: Revocation): Promise<'revoked' | 'too-many'> {
    const { store } = this.options;
    if (!this.known.hasRoomFor(revocation.appId, revocation)) return 'too-many';
    const added = await store.add(revocation, this.keptSinceMs());
    if (added === 'too-many') return added;
    await this.readNew((await store.revisions()).revocations);
    // A store that was replaced by an older copy has nothing that is new.
    if (!this.known.holds(revocation)) this.report({ forgotten: [], added: [revocation] });
    return 'revoked';
  }

  /** Those of an app, a page at a time. */
  page(appId: string, page: RevocationPage): Promise<readonly Revocation[]> {
    return this.options.store.page(appId, page, this.keptSinceMs());
  }

  /** Reads those of deleted apps again: an app that has the id now must not get them. */
  async appsDeleted(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const { store, log } = this.options;
    try {
      await this.turns.run(async () => {
        this.report({ forgotten: ids, added: await store.ofApps(ids) });
      });
    } catch (error) {
      // They go on to hold. An app that has the id now can work with them: they are older than its grants.
      log.warn('Revocations of deleted apps are still known', { why: messageOf(error) });
    }
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  private async readNew(revision: number): Promise<void> {
    await this.turns.run(async () => {
      // Another turn has read more, or the store was replaced by an older copy: what is known holds in any case.
      if (revision <= this.revision) return;
      const added = await this.options.store.addedAfter(this.revision);
      this.revision = revision;
      if (added.length > 0) this.report({ forgotten: [], added });
    });
  }

  private report(change: RevocationChange): void {
    this.known.replace(change.forgotten, change.added);
    this.changed?.(change);
  }

  private keptSinceMs(): number {
    return this.retentionClock.now() - REVOCATION_KEPT_MS;
  }

  private async forgetOld(): Promise<void> {
    const { store, log } = this.options;
    try {
      for (let pieces = 0; pieces < FORGOTTEN_PIECES; pieces++) {
        if (!(await store.forgetSomeBefore(this.keptSinceMs()))) return;
      }
    } catch (error) {
      log.warn('Old revocations cannot be deleted yet', { why: messageOf(error) });
    }
  }
}
