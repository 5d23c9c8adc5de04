import type { AfterPart, DeviceResult } from '../model/delivery.ts';
import { onlyOf } from './held-works.ts';
import { STORE_PAUSE_MS } from './limits.ts';
import type { PipelinePorts } from './ports.ts';
import type { StoreAccess } from './store-access.ts';
import type { Work } from './work.ts';

/**
 * How old a result may become before it is on its way to the store. With the commit, which takes some milliseconds,
 * a crash repeats what was answered in the last 100 ms. A page whose devices are all answered sooner is kept whole.
 */
const UNKEPT_MS = 90;

/** Works whose oldest result is this old are kept along with others: a further row costs less than a commit. */
const ALONG_MS = 30;

/** Hears that results of a work were kept: the first so many of those it has. */
export type ProgressKept = (work: Work, count: number, after: AfterPart) => void;

/**
 * Keeps what has become of devices whose job is still under way, so that little is sent again after a crash: at
 * fixed times, all works together in one commit.
 */
export class Progress {
  private readonly ports: Pick<PipelinePorts, 'store' | 'timers'>;
  private readonly access: StoreAccess;
  private readonly kept: ProgressKept;
  /** When the oldest result of each work came that is not kept. */
  private readonly sinceMs = new Map<Work, number>();
  private isPlanned = false;

  constructor(
    ports: Pick<PipelinePorts, 'store' | 'timers'>,
    access: StoreAccess,
    kept: ProgressKept,
  ) {
    this.ports = ports;
    this.access = access;
    this.kept = kept;
  }

  /** The work has results of which none is kept. */
  readonly unkept = (work: Work): void => {
    if (work.isClosed) return;
    this.sinceMs.set(work, this.ports.timers.now());
    this.plan(UNKEPT_MS);
  };

  /** All results of the work are about to be kept at once. */
  leave(work: Work): void {
    this.sinceMs.delete(work);
  }

  /** Keeps what there is now. */
  keepAll(): void {
    for (const work of this.sinceMs.keys()) this.begin(work);
  }

  /** To be called where something else is written: what is due soon shares the commit. */
  keepAlong(): void {
    const nowMs = this.ports.timers.now();
    for (const [work, sinceMs] of this.sinceMs) {
      const ageMs = nowMs - sinceMs;
      // A clock that was set back says nothing of its age.
      if (ageMs < 0 || ageMs >= ALONG_MS) this.begin(work);
    }
  }

  private plan(ms: number): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.ports.timers.after(ms, () => {
      this.isPlanned = false;
      this.keepDue();
    });
  }

  private keepDue(): void {
    const nowMs = this.ports.timers.now();
    const leftMs = [...this.sinceMs.values()].map((sinceMs) => sinceMs + UNKEPT_MS - nowMs);
    const earliestMs = Math.min(...leftMs);
    if (earliestMs <= 0 || earliestMs > UNKEPT_MS) this.keepAlong();
    if (this.sinceMs.size > 0) this.plan(Math.max(1, Math.min(earliestMs, UNKEPT_MS)));
  }

  private begin(work: Work): void {
    this.sinceMs.delete(work);
    work.keeping ??= this.keep(work);
  }

  private async keep(work: Work): Promise<void> {
    const { store, timers } = this.ports;
    const results = [...work.results];
    const job = work.job.what === 'page' ? work.job : onlyOf(work.job, devicesOf(results));
    const nowMs = timers.now();
    try {
      const after = await this.access.ask(() => store.settlePart({ job, results, nowMs }));
      this.kept(work, results.length, after);
      // The next ones came while these were being kept.
      if (this.sinceMs.has(work)) this.sinceMs.set(work, nowMs);
    } catch {
      // It was told. They are tried again after a while, or when the work is done.
      void this.access.pause(STORE_PAUSE_MS).then(() => this.unkept(work));
    } finally {
      work.keeping = undefined;
    }
  }
}

function devicesOf(results: readonly DeviceResult[]): ReadonlySet<number> {
  return new Set(results.map(({ device }) => device));
}
