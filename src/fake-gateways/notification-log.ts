/** The limit of entries. */
const ENTRIES_MAX = 10_000;

/** What arrived at a fake gateway, the oldest first. The oldest entries are dropped when it is full. */
export class NotificationLog<Entry> {
  /** How many arrived, dropped ones included. */
  count = 0;
  private readonly entries: Entry[] = [];
  private readonly entriesMax: number;
  private readonly waiting = new Set<() => void>();
  private readonly listeners: ((entry: Entry) => void)[] = [];

  constructor(entriesMax = ENTRIES_MAX) {
    this.entriesMax = entriesMax;
  }

  add(entry: Entry): void {
    this.count++;
    this.entries.push(entry);
    // In batches: dropping one entry would move all others.
    if (this.entries.length >= this.entriesMax * 2) {
      this.entries.splice(0, this.entries.length - this.entriesMax);
    }
    for (const check of this.waiting) check();
    for (const onEntry of this.listeners) onEntry(entry);
  }

  /** Calls `onEntry` for each further entry. */
  listen(onEntry: (entry: Entry) => void): void {
    this.listeners.push(onEntry);
  }

  list(): readonly Entry[] {
    return this.entries.slice(-this.entriesMax);
  }

  clear(): void {
    this.entries.length = 0;
    this.count = 0;
  }

  /** Settles once `count` entries have arrived. */
  reaches(count: number): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (this.count < count) return;
        this.waiting.delete(check);
        resolve();
      };
      this.waiting.add(check);
      check();
    });
  }
}
