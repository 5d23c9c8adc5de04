import { type LiveFilter, type LiveRecord, passes } from './records.ts';

/** A row of the list: a record, or a line about missing records. */
export type LiveRow =
  | { readonly id: number; readonly record: LiveRecord }
  | { readonly id: number; readonly gap: string };

/** How many rows the page keeps. */
export const KEPT = 10_000;

/** An update comes soon after its record, so only the newest rows are searched. */
const SEARCHED = 2000;

/** The newest rows of a stream, and those of them that a filter lets through. */
export class LiveRows {
  private all: LiveRow[] = [];
  private passed: LiveRow[] = [];
  private nextId = 1;
  private filter: LiveFilter;
  /** The newest row of a paused view; `undefined` while the view follows the stream. */
  private heldAt: number | undefined;

  /** `recorded`: the rows of a recording, which are all kept. */
  constructor(filter: LiveFilter, recorded: readonly LiveRow[] = []) {
    this.filter = filter;
    this.all = [...recorded];
    this.narrow(filter);
  }

  /** Rows that the view has, the newest first. */
  get length(): number {
    return this.passed.length - this.newer;
  }

  /** Rows that have arrived since the view was paused. */
  get newer(): number {
    const { heldAt } = this;
    if (heldAt === undefined) return 0;
    // Ids are in ascending order, so a binary search finds the row.
    let [low, high] = [0, this.passed.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.passed[middle]?.id ?? 0) <= heldAt) low = middle + 1;
      else high = middle;
    }
    return this.passed.length - low;
  }

  get kept(): number {
    return this.all.length;
  }

  /** A row of the view; 0 is the newest one. */
  at(index: number): LiveRow | undefined {
    return this.passed[this.length - 1 - index];
  }

  indexOf(id: number): number {
    for (let index = 0; index < this.length; index++) if (this.at(index)?.id === id) return index;
    return -1;
  }

  add(records: readonly LiveRecord[]): void {
    for (const record of records) {
      const row = { id: this.nextId++, record };
      this.all.push(row);
      if (passes(record, this.filter)) this.passed.push(row);
    }
    this.trim();
  }

  /** Adds a line about missing records. */
  addGap(gap: string): void {
    const row = { id: this.nextId++, gap };
    this.all.push(row);
    this.passed.push(row);
    this.trim();
  }

  /** Updates a record that is already in the list. */
  update(change: Partial<LiveRecord> & { readonly n: number }): void {
    for (const rows of [this.all, this.passed]) {
      const from = Math.max(0, rows.length - SEARCHED);
      for (let index = rows.length - 1; index >= from; index--) {
        const row = rows[index];
        if (row === undefined || !('record' in row) || row.record.n !== change.n) continue;
        rows[index] = { id: row.id, record: { ...row.record, ...change } };
        break;
      }
    }
  }

  /** The present version of a record; `undefined` if it is no longer kept. */
  recordOf({ n, atMs, node }: LiveRecord): LiveRecord | undefined {
    const row = this.passed.findLast(
      (each) =>
        'record' in each &&
        each.record.n === n &&
        each.record.atMs === atMs &&
        each.record.node === node,
    );
    return row !== undefined && 'record' in row ? row.record : undefined;
  }

  /** Applies another filter to the kept rows. */
  narrow(filter: LiveFilter): void {
    this.filter = filter;
    this.passed = this.all.filter((row) => 'gap' in row || passes(row.record, filter));
  }

  /** Pauses the view while new rows arrive, or lets it follow the stream again. */
  hold(isHeld: boolean): void {
    if (!isHeld) this.heldAt = undefined;
    else this.heldAt ??= this.nextId - 1;
  }

  clear(): void {
    this.all = [];
    this.passed = [];
  }

  /** All kept records of the view, oldest first. */
  records(): readonly LiveRecord[] {
    return this.passed.flatMap((row) => ('record' in row ? [row.record] : []));
  }

  private trim(): void {
    // Not for each row, because it copies the whole list.
    if (this.all.length <= KEPT * 1.1) return;
    this.all.splice(0, this.all.length - KEPT);
    const oldest = this.all[0]?.id ?? 0;
    const first = this.passed.findIndex(({ id }) => id >= oldest);
    this.passed.splice(0, first === -1 ? this.passed.length : first);
  }
}
