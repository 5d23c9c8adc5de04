import type { AfterPart, DeviceResult } from '../../model/delivery.ts';
import { STORE_PAUSE_MS } from '../limits.ts';
import type { PipelinePorts } from '../ports.ts';
import type { StoreAccess } from '../store-access.ts';
import type { InFlightJob } from './in-flight-job.ts';
import { onlyDevices } from './jobs-in-flight.ts';

/**
 * Results wait at most this long before they are written. A commit takes some milliseconds more, so a crash repeats
 * the sends of the last 100 ms. A page that is done sooner is stored in one piece.
 */
const STORE_AFTER_MS = 90;

/** Results this old are written along with other commits, because another row costs less than another commit. */
const STORE_ALONG_AFTER_MS = 30;

/** Called when the first `count` results of a job are stored. */
export type OnProgress = (job: InFlightJob, count: number, after: AfterPart) => void;

/**
 * Stores the results of jobs that are still in flight, so that few sends are repeated after a crash. Jobs with results
 * of about the same age share one commit.
 */
export class JobProgress {
  private readonly ports: Pick<PipelinePorts, 'store' | 'timers'>;
  private readonly access: StoreAccess;
  private readonly onProgress: OnProgress;
  /** The time of the oldest result that is not stored yet, by job. */
  private readonly sinceMs = new Map<InFlightJob, number>();
  private isPlanned = false;

  constructor(
    ports: Pick<PipelinePorts, 'store' | 'timers'>,
    access: StoreAccess,
    onProgress: OnProgress,
  ) {
    this.ports = ports;
    this.access = access;
    this.onProgress = onProgress;
  }

  /** Schedules a job that has its first unstored results. */
  readonly add = (job: InFlightJob): void => {
    if (job.isClosed) return;
    this.sinceMs.set(job, this.ports.timers.now());
    this.plan(STORE_AFTER_MS);
  };

  /** Forgets a job whose results are about to be stored all at once. */
  remove(job: InFlightJob): void {
    this.sinceMs.delete(job);
  }

  /** Stores all results now. */
  storeAll(): void {
    for (const job of this.sinceMs.keys()) this.begin(job);
  }

  /** Stores what is due soon. Called when something else is written, to share that commit. */
  storeAlong(): void {
    const nowMs = this.ports.timers.now();
    for (const [job, sinceMs] of this.sinceMs) {
      const ageMs = nowMs - sinceMs;
      // Negative: the clock was set back, so the age is unknown.
      if (ageMs < 0 || ageMs >= STORE_ALONG_AFTER_MS) this.begin(job);
    }
  }

  private plan(ms: number): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.ports.timers.after(ms, () => {
      this.isPlanned = false;
      this.storeDue();
    });
  }

  private storeDue(): void {
    const nowMs = this.ports.timers.now();
    const leftMs = [...this.sinceMs.values()].map((sinceMs) => sinceMs + STORE_AFTER_MS - nowMs);
    const earliestMs = Math.min(...leftMs);
    if (earliestMs <= 0 || earliestMs > STORE_AFTER_MS) this.storeAlong();
    if (this.sinceMs.size > 0) this.plan(Math.max(1, Math.min(earliestMs, STORE_AFTER_MS)));
  }

  private begin(job: InFlightJob): void {
    this.sinceMs.delete(job);
    job.storing ??= this.store(job);
  }

  private async store(job: InFlightJob): Promise<void> {
    const { store, timers } = this.ports;
    const results = [...job.results];
    const claim =
      job.claim.what === 'page' ? job.claim : onlyDevices(job.claim, devicesOf(results));
    const nowMs = timers.now();
    try {
      const after = await this.access.ask(() => store.settlePart({ job: claim, results, nowMs }));
      this.onProgress(job, results.length, after);
      // Results that came during the commit are as old as the commit.
      if (this.sinceMs.has(job)) this.sinceMs.set(job, nowMs);
    } catch {
      // Reported by `access`. The results are stored after a pause, or with the end of the job.
      void this.access.pause(STORE_PAUSE_MS).then(() => this.add(job));
    } finally {
      job.storing = undefined;
    }
  }
}

function devicesOf(results: readonly DeviceResult[]): ReadonlySet<number> {
  return new Set(results.map(({ device }) => device));
}
