import type { LogThrottle } from '../runtime/log-throttle.ts';
import type { Log, Timers } from '../runtime/ports.ts';
import { FLUSH_ATTEMPTS, FLUSH_MS, STORE_PAUSE_MS } from './limits.ts';
import type { NewOutboxRequest, Outbox, Settlement } from './outbox.ts';

interface Entries {
  readonly requests: readonly NewOutboxRequest[];
  readonly settled: readonly Settlement[];
}

export interface OutboxWriterOptions {
  readonly outbox: Outbox;
  readonly timers: Timers;
  readonly log: Log;
  readonly throttle: LogThrottle;
  /** Hears whether the outbox could be written: `undefined` where it could, else the error. */
  readonly storeState: (error: unknown) => void;
  /** Gives the new requests; asked only when what it gave before has been written. */
  readonly take: () => readonly NewOutboxRequest[];
  readonly written: (entries: Entries) => void;
}

/**
 * Writes new requests and the ends of others to the outbox, one commit for all of 100 ms.
 * Where the store fails, nothing is lost: the same is written again after a second, and nothing new is
 * taken until then.
 */
export class OutboxWriter {
  private readonly options: OutboxWriterOptions;
  private settled: Settlement[] = [];
  /** What a failed write has left. */
  private unwritten: Entries | undefined;
  private cancel: (() => void) | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(options: OutboxWriterOptions) {
    this.options = options;
  }

  /** Whether the last write has failed. */
  get failing(): boolean {
    return this.unwritten !== undefined;
  }

  /** Has everything written at most 100 ms from now. */
  soon(ms = FLUSH_MS): void {
    this.cancel ??= this.options.timers.after(ms, () => void this.flush());
  }

  settle(settlement: Settlement): void {
    this.settled.push(settlement);
    if (this.settled.length % FLUSH_ATTEMPTS === 0 && !this.failing) void this.flush();
    else this.soon();
  }

  /** Writes now, after whatever is being written. Never throws: a failure is logged and tried again. */
  flush(): Promise<void> {
    this.cancel?.();
    this.cancel = undefined;
    return this.alone(() => this.write());
  }

  /** Prevents the next write, until something new comes. */
  stop(): void {
    this.cancel?.();
    this.cancel = undefined;
  }

  /** Runs `work` while nothing is being written, so that what it reads and what was told agree. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work);
    // A failure is for whoever asked for this work; the next one starts all the same.
    this.last = done.catch(() => undefined);
    return done;
  }

  private async write(): Promise<void> {
    if (this.unwritten !== undefined && !(await this.writeEntries(this.unwritten))) return;
    const entries = { requests: this.options.take(), settled: this.settled };
    this.settled = [];
    if (entries.requests.length + entries.settled.length > 0) await this.writeEntries(entries);
  }

  private async writeEntries(entries: Entries): Promise<boolean> {
    const { outbox, log, throttle, storeState, written } = this.options;
    try {
      await outbox.write(entries.requests, entries.settled);
    } catch (error) {
      this.unwritten = entries;
      const why = error instanceof Error ? error.message : String(error);
      storeState(error);
      throttle.run('write', (throttled) =>
        log.error('Webhooks cannot be stored', { why, ...throttled }),
      );
      this.soon(STORE_PAUSE_MS);
      return false;
    }
    this.unwritten = undefined;
    storeState(undefined);
    written(entries);
    return true;
  }
}
