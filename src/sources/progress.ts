import type { Look, LookOptions } from './ports.ts';
import { ROW_KINDS, type RowKind } from './row.ts';

/** A look at the whole table comes after this time, or after this many times of what it takes. Milliseconds. */
const WHOLE_MS = 1_000;
const WHOLE_TIMES = 20;

/** For this long after a row, the table is looked at this often. Milliseconds. */
const BUSY_MS = 1_000;
const BUSY_POLL_MS = 25;

/** Below every id, also those of a sequence that was set to a negative number. */
export const BELOW_ALL = -(2n ** 63n);

/**
 * Where and when an outbox is looked at. Looks at the whole table are slow while another transaction keeps PostgreSQL from
 * removing dead rows, so most begin behind the last row that was handled.
 *
 * Rows get their ids before they are committed, so rows with smaller ids may still come, but only from transactions that were
 * running at an earlier look: `running` says behind which id each of them writes. A look begins before the rows of those that
 * have ended since, so rows never overtake others of their channel that were committed earlier.
 *
 * Looks at the whole table find rows whose ids did not grow: of which somebody has removed the mark, or that were written after
 * the ids began anew. Times are those of a monotonic clock.
 */
export class Progress {
  private readonly pollMs: number;
  /** All rows with this id and smaller ones that could be seen were handled. */
  private doneTo = BELOW_ALL;
  private running: ReadonlyMap<string, bigint> = new Map();
  private kinds: readonly RowKind[] = [];
  private isWhole = false;
  private wholeAtMs = Number.NEGATIVE_INFINITY;
  private busyUntilMs = Number.NEGATIVE_INFINITY;
  private readonly pausedUntilMs = new Map<RowKind, number>();

  constructor(pollMs: number) {
    this.pollMs = pollMs;
  }

  /** The next look; or the milliseconds until there is one, while all kinds of rows are paused. */
  next(nowMs: number): LookOptions | number {
    const kinds = ROW_KINDS.filter((kind) => this.untilMs(kind) <= nowMs);
    if (kinds.length === 0) return Math.min(...ROW_KINDS.map((kind) => this.untilMs(kind))) - nowMs;
    // What was paused may have rows anywhere.
    const isResumed = kinds.some((kind) => !this.kinds.includes(kind));
    this.isWhole = isResumed || nowMs >= this.wholeAtMs;
    this.kinds = kinds;
    return { kinds, after: this.isWhole ? BELOW_ALL : this.doneTo, running: this.running };
  }

  /** Notes what the look has found, and returns the milliseconds until the next one. */
  looked(look: Look, nowMs: number): number {
    if (look === 'followed-elsewhere') {
      this.forget();
      return this.pollMs;
    }
    const { rows, results, running, readMs } = look;
    if (this.isWhole) this.wholeAtMs = nowMs + Math.max(WHOLE_MS, WHOLE_TIMES * readMs);
    const before = this.doneTo;
    this.running = new Map(running.map((id) => [id, this.running.get(id) ?? before]));
    let isAnyDone = false;
    let firstLeft: bigint | undefined;
    for (const [place, { id, kind }] of rows.entries()) {
      const one = results[place];
      if (one?.result === 'sent' || one?.result === 'failed') {
        isAnyDone = true;
        continue;
      }
      firstLeft ??= id;
      if (one?.result === 'later') this.pause(kind, nowMs + one.pauseMs);
    }
    this.doneTo = firstLeft === undefined ? this.doneAfter(look) : firstLeft - 1n;
    if (isAnyDone) this.busyUntilMs = nowMs + BUSY_MS;
    if (isAnyDone) return 0;
    return nowMs < this.busyUntilMs ? Math.min(BUSY_POLL_MS, this.pollMs) : this.pollMs;
  }

  /** Forgets where it was: another server may have gone on, or the database may be another. */
  forget(): void {
    this.doneTo = BELOW_ALL;
    this.running = new Map();
    this.wholeAtMs = Number.NEGATIVE_INFINITY;
  }

  private doneAfter({ rows, isFull }: Exclude<Look, string>): bigint {
    const last = rows.at(-1)?.id;
    if (last === undefined) return this.doneTo;
    // Behind a full look there may be more, and of a whole one we know that nothing else is there.
    return isFull || this.isWhole || last > this.doneTo ? last : this.doneTo;
  }

  private untilMs(kind: RowKind): number {
    return this.pausedUntilMs.get(kind) ?? Number.NEGATIVE_INFINITY;
  }

  private pause(kind: RowKind, untilMs: number): void {
    this.pausedUntilMs.set(kind, Math.max(untilMs, this.untilMs(kind)));
  }
}
