import type { DayUsage } from '../../channels/usage.ts';
import type { Log } from '../../runtime/ports.ts';
import type { UsageStore } from '../../stores/tenants/usage-store.ts';

/** What it needs of the store. */
type KeptUsage = Pick<UsageStore, 'add' | 'ofDay'>;

/** The pause after usage could not be written. Milliseconds. */
const PAUSE_MS = 1000;

/**
 * Keeps what the realtime loop counts, one transaction after the other. While the store cannot be written,
 * what is to be kept is added up, so that it stays as small as the number of apps, and tried again each second.
 */
export class UsageWriter implements AsyncDisposable {
  private readonly store: KeptUsage;
  private readonly log: Log;
  private readonly storeState: (error: unknown) => boolean;
  /** By day and app. */
  private waiting = new Map<string, DayUsage>();
  private writing: Promise<void> | undefined;
  private retry: NodeJS.Timeout | undefined;
  private ended = false;

  /** `storeState` hears why the store could not be written, or `undefined`, and gives whether that is news. */
  constructor(store: KeptUsage, log: Log, storeState: (error: unknown) => boolean) {
    this.store = store;
    this.log = log;
    this.storeState = storeState;
  }

  today(): Promise<readonly DayUsage[]> {
    return this.store.ofDay(new Date().toISOString().slice(0, 10));
  }

  keep(usage: readonly DayUsage[]): void {
    for (const one of usage) this.add(one);
    if (this.retry === undefined) this.writing ??= this.write();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ended = true;
    await this.writing;
    clearTimeout(this.retry);
    if (this.waiting.size > 0) await this.write();
  }

  private add(usage: DayUsage): void {
    const key = `${usage.day} ${usage.appId}`;
    const before = this.waiting.get(key);
    this.waiting.set(key, {
      ...usage,
      messages: usage.messages + (before?.messages ?? 0),
      clientMessages: usage.clientMessages + (before?.clientMessages ?? 0),
    });
  }

  private async write(): Promise<void> {
    const taken = [...this.waiting.values()];
    this.waiting = new Map();
    try {
      await this.store.add(taken);
      this.storeState(undefined);
    } catch (error) {
      // Kept for the next time; told once, not with every attempt.
      for (const one of taken) this.add(one);
      const why = error instanceof Error ? error.message : String(error);
      if (this.storeState(error)) this.log.error('Usage cannot be kept', { why });
      if (!this.ended) this.retry = setTimeout(() => this.writeAgain(), PAUSE_MS);
    }
    // What came meanwhile must not wait for the next that comes: there may be none for hours.
    const more = this.waiting.size > 0 && this.retry === undefined && !this.ended;
    this.writing = more ? this.write() : undefined;
  }

  private writeAgain(): void {
    this.retry = undefined;
    this.writing = this.write();
  }
}
