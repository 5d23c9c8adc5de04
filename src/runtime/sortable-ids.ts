/** Ids of one millisecond: as many as their twelve bits can count. */
const OF_ONE_MS = 0x1000;

/**
 * Makes UUIDs of version 7 that sort in the order in which they are made, also when the clock is set back: lists are read
 * by ids, and what is new would be among what is old. Source: RFC 9562, 6.2, method 1.
 */
export class SortableIds {
  private lastMs = 0;
  private madeOfMs = 0;

  /** Makes the next id. Its time is later than `nowMs` if earlier ids have a later one. */
  next(nowMs: number): string {
    if (nowMs > this.lastMs) this.startMs(nowMs);
    else if (this.madeOfMs === OF_ONE_MS) this.startMs(this.lastMs + 1);
    const time = this.lastMs.toString(16).padStart(12, '0');
    const count = this.madeOfMs.toString(16).padStart(3, '0');
    this.madeOfMs++;
    const random = crypto.randomUUID().slice('01234567-0123-0123'.length);
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count}${random}`;
  }

  /** Makes all further ids sort behind one that was made earlier, perhaps by another process. */
  follow(id: string): void {
    const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    if (ms >= this.lastMs) this.startMs(ms + 1);
  }

  private startMs(ms: number): void {
    this.lastMs = ms;
    this.madeOfMs = 0;
  }
}
