/** Entries that are kept. */
const ENTRIES_MAX = 10_000;

/** What arrived at a fake gateway, the oldest first; older entries make room for new ones. */
export class NotificationLog<Entry> {
  private readonly entries: Entry[] = [];
  private readonly entriesMax: number;
  private readonly waiting = new Set<() => void>();
  private readonly listeners: ((entry: Entry) => void)[] = [];
  /** How many there were, those included that made room. */
  count = 0;

  constructor(entriesMax = ENTRIES_MAX) {
    this.entriesMax = entriesMax;
  }

  add(entry: Entry): void {
    this.count++;
    this.entries.push(entry);
    // Not one by one: that would move all others each time.
    if (this.entries.length >= this.entriesMax * 2) {
      this.entries.splice(0, this.entries.length - this.entriesMax);
    }
    for (const look of this.waiting) look();
    for (const hear of this.listeners) hear(entry);
  }

  /** Tells of each entry, from now on. */
  listen(hear: (entry: Entry) => void): void {
    this.listeners.push(hear);
  }

  list(): readonly Entry[] {
    return this.entries.slice(-this.entriesMax);
  }

  clear(): void {
    this.entries.length = 0;
    this.count = 0;
  }

  /** Settles as soon as so many have arrived. */
  reaches(count: number): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.count < count) return;
        this.waiting.delete(look);
        resolve();
      };
      this.waiting.add(look);
      look();
    });
  }
}
