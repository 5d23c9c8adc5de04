import type { DayUsage } from '../../../channels/usage/usage.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { Poller } from '../../../runtime/time/poller.ts';
import type { UsageStore } from '../../../stores/tenants/usage-store.ts';

const RETRY_MS = 1000;

export interface UsageWriterOptions {
  readonly store: Pick<UsageStore, 'add' | 'ofDay'>;
  readonly timers: Timers;
  readonly log: Log;
  /** Called with the result of each write: `undefined`, or the error. Returns whether the state has changed. */
  readonly storeState: (error: unknown) => boolean;
}

/**
 * Writes the usage counted by the realtime loops to the store, one transaction at a time. While the store cannot be
 * written, it adds up usage by day and app, so memory is bounded by the number of apps, and retries every second.
 */
export class UsageWriter implements AsyncDisposable {
  private readonly options: UsageWriterOptions;
  /** By day and app. */
  private waiting = new Map<string, DayUsage>();
  private readonly writing: Poller;
  private isFailing = false;

  constructor(options: UsageWriterOptions) {
    this.options = options;
    this.writing = new Poller(options.timers, () => this.write());
  }

  today(): Promise<readonly DayUsage[]> {
    return this.options.store.ofDay(new Date().toISOString().slice(0, 10));
  }

  keep(usage: readonly DayUsage[]): void {
    for (const one of usage) this.add(one);
    if (!this.isFailing) this.writing.wake();
  }

  /** Forgets what was not written yet of deleted apps. */
  forget(appIds: readonly string[]): void {
    for (const [key, { appId }] of this.waiting) {
      if (appIds.includes(appId)) this.waiting.delete(key);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.writing.stop();
    await this.write();
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

  /** Writes what waits. After a failure it is written again later, and not when more comes. */
  private async write(): Promise<number> {
    const { store, log, storeState } = this.options;
    if (this.waiting.size === 0) return Number.POSITIVE_INFINITY;
    const taken = [...this.waiting.values()];
    this.waiting = new Map();
    try {
      await store.add(taken);
      storeState(undefined);
      this.isFailing = false;
      return Number.POSITIVE_INFINITY;
    } catch (error) {
      // Logged once rather than for each attempt.
      for (const one of taken) this.add(one);
      const why = messageOf(error);
      if (storeState(error)) log.error('Usage cannot be written to the store', { why });
      this.isFailing = true;
      return RETRY_MS;
    }
  }
}
