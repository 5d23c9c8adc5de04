import type { SQL } from 'bun';
import { GIVE_WAY_FROM } from '../../../push/backlog-store.ts';
import type { BigInteger } from '../../database/rows.ts';

/** The pending bytes of one instance. */
interface Known {
  /** As last read from the store. */
  readBytes: number;
  readAtMs: number;
  /** Accepted by this server since. */
  addedBytes: number;
  reading: Promise<void> | undefined;
}

interface NewBody {
  readonly instance: number;
  readonly bytes: number;
  /** Limit of the instance. */
  readonly max: number;
  readonly nowMs: number;
}

/** The room for a body: it fits, it fits but publishes should give way, or it does not fit. */
export type Room = 'free' | 'scarce' | 'none';

/** How often the store is read again while there is no room. */
const READ_AGAIN_MS = 1_000;

/** The store is read again after this share of the limit was accepted here. */
const UNREAD_SHARE = 1 / 4;

/**
 * Limits the bytes in the bodies of an instance's unfinished publishes. Counts new ones in memory and reads the sum from
 * the store now and then. The limit may be exceeded by what other servers accept in between.
 */
export class PendingBodies {
  private readonly instances = new Map<number, Known>();

  /** Counts a body if there is room, and returns how much there was. Uses `read` only if needed. */
  add(body: NewBody, read: SQL): Room | Promise<Room> {
    const { instance, bytes, max, nowMs } = body;
    const known = this.instances.get(instance);
    // Waits while the store is read: the result may or may not include this body.
    const isKnown = known?.reading === undefined;
    if (known !== undefined && isKnown && known.addedBytes <= max * UNREAD_SHARE) {
      const room = roomFor(body, known);
      if (room !== 'none') {
        known.addedBytes += bytes;
        return room;
      }
      // Negative after the clock was set back.
      const agoMs = nowMs - known.readAtMs;
      if (agoMs >= 0 && agoMs < READ_AGAIN_MS) return 'none';
    }
    return this.readFirst(body, read);
  }

  /** Reads the sum from the store. */
  async readNow(of: Pick<NewBody, 'instance' | 'nowMs'>, read: SQL): Promise<number> {
    const known = this.known(of);
    // Concurrent publishes share one query.
    known.reading ??= this.read(known, of, read);
    await known.reading;
    return known.readBytes + known.addedBytes;
  }

  /** Publishes were finished to make room. */
  freed(instance: number, bytes: number): void {
    const known = this.instances.get(instance);
    if (known !== undefined) known.readBytes = Math.max(0, known.readBytes - bytes);
  }

  private async readFirst(body: NewBody, read: SQL): Promise<Room> {
    await this.readNow(body, read);
    const known = this.known(body);
    const room = roomFor(body, known);
    if (room !== 'none') known.addedBytes += body.bytes;
    return room;
  }

  private known({ instance, nowMs }: Pick<NewBody, 'instance' | 'nowMs'>): Known {
    let known = this.instances.get(instance);
    if (known === undefined) {
      known = { readBytes: 0, readAtMs: nowMs, addedBytes: 0, reading: undefined };
      this.instances.set(instance, known);
    }
    return known;
  }

  private async read(
    known: Known,
    { instance, nowMs }: Pick<NewBody, 'instance' | 'nowMs'>,
    read: SQL,
  ): Promise<void> {
    try {
      known.addedBytes = 0;
      const [row]: { bytes: BigInteger | null }[] = await read`
        SELECT SUM(body_bytes) AS bytes FROM publishes
        WHERE instance = ${instance} AND finished_at IS NULL`;
      known.readBytes = Number(row?.bytes ?? 0);
      known.readAtMs = nowMs;
    } finally {
      known.reading = undefined;
    }
  }
}

function roomFor({ bytes, max }: NewBody, { readBytes, addedBytes }: Known): Room {
  const sum = readBytes + addedBytes + bytes;
  if (sum > max) return 'none';
  return sum >= max * GIVE_WAY_FROM ? 'scarce' : 'free';
}
