import type { Log } from './channels/ports.ts';
import type { DayUsage } from './channels/usage.ts';
import type { UsageStore } from './stores/usage-store.ts';

/**
 * Keeps what the realtime loop counts, one transaction after the other. While the store cannot be written,
 * what is to be kept is added up, so that it stays as small as the number of apps.
 */
export class UsageKeeper implements AsyncDisposable {
  private readonly store: UsageStore;
  private readonly log: Log;
  /** By day and app. */
  private waiting = new Map<string, DayUsage>();
  private writing: Promise<void> | undefined;
  private failing = false;

  constructor(store: UsageStore, log: Log) {
    this.store = store;
    this.log = log;
  }

  today(): Promise<readonly DayUsage[]> {
    return this.store.ofDay(new Date().toISOString().slice(0, 10));
  }

  keep(usage: readonly DayUsage[]): void {
    for (const one of usage) this.add(one);
    this.writing ??= this.write();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.writing;
    if (this.waiting.size > 0) await this.write();
  }

  private add(usage: DayUsage): void {
    const key = `${usage.day} ${usage.appId}`;
    const messages = (this.waiting.get(key)?.messages ?? 0) + usage.messages;
    this.waiting.set(key, { ...usage, messages });
  }

  private async write(): Promise<void> {
    const taken = [...this.waiting.values()];
    this.waiting = new Map();
    try {
      await this.store.add(taken);
      this.failing = false;
    } catch (error) {
      // Kept for the next time; told once, not with every attempt.
      for (const one of taken) this.add(one);
      if (!this.failing) this.log.error('Usage cannot be kept', { why: String(error) });
      this.failing = true;
    }
    this.writing = undefined;
  }
}
