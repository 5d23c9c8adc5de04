import type { SQL } from 'bun';

/** What is known of one instance. */
interface Known {
  /** Bytes when they were last read. */
  readBytes: number;
  readAtMs: number;
  /** Bytes that this server has accepted since. */
  addedBytes: number;
  reading: Promise<void> | undefined;
}

/** What a small publish counts as, because its rows take as much. So there is no end of publishes to count, either. */
const BYTES_MIN = 512;

/** What the body of a publish counts as. */
export function countedBytes(body: string): number {
  return Math.max(BYTES_MIN, Buffer.byteLength(body));
}

/** How often it is looked whether publishes have finished, while there is no room. */
const READ_AGAIN_MS = 1_000;

/** After so large a part of the limit was accepted here, it is looked what others have accepted and finished. */
const PART_UNSEEN = 1 / 4;

/**
 * Bounds the bytes in the bodies of an instance's publishes that are not finished. They are counted here as they
 * come, which costs nothing, and read from the store now and then: what several servers accept in between, and in the
 * commit under way, may come on top.
 */
export class PendingBodies {
  private readonly instances = new Map<number, Known>();

  /**
   * Counts a body, and says whether there was room for it. `read` is asked for what the store has only where that
   * matters.
   */
  add(
    instance: number,
    bytes: number,
    max: number,
    nowMs: number,
    read: SQL,
  ): boolean | Promise<boolean> {
    const known = this.instances.get(instance);
    // What is accepted while the store is read may be counted twice, so it waits for the answer.
    const isKnown = known?.reading === undefined;
    if (known !== undefined && isKnown && known.addedBytes <= max * PART_UNSEEN) {
      if (known.readBytes + known.addedBytes + bytes <= max) {
        known.addedBytes += bytes;
        return true;
      }
      // A clock that was set back must not keep it from looking.
      const agoMs = nowMs - known.readAtMs;
      if (agoMs >= 0 && agoMs < READ_AGAIN_MS) return false;
    }
    return this.readFirst(instance, bytes, max, nowMs, read);
  }

  private async readFirst(
    instance: number,
    bytes: number,
    max: number,
    nowMs: number,
    read: SQL,
  ): Promise<boolean> {
    let known = this.instances.get(instance);
    if (known === undefined) {
      known = { readBytes: 0, readAtMs: nowMs, addedBytes: 0, reading: undefined };
      this.instances.set(instance, known);
    }
    // Many publishes come at once, and ask once.
    known.reading ??= this.read(known, instance, nowMs, read);
    await known.reading;
    const fits = known.readBytes + known.addedBytes + bytes <= max;
    if (fits) known.addedBytes += bytes;
    return fits;
  }

  private async read(known: Known, instance: number, nowMs: number, read: SQL): Promise<void> {
    try {
      known.addedBytes = 0;
      const [row]: { bytes: number | string | null }[] = await read`
        SELECT SUM(body_bytes) AS bytes FROM publishes
        WHERE instance = ${instance} AND finished_at IS NULL`;
      known.readBytes = Number(row?.bytes ?? 0);
      known.readAtMs = nowMs;
    } finally {
      known.reading = undefined;
    }
  }
}
