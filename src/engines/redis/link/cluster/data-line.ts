import { Recent } from '../../../../runtime/recent.ts';
import type { RedisProcess } from '../check-server.ts';

/** What slots have seen of the masters of their cluster. */
export class SeenMasters {
  private readonly seen = new Recent<string, { readonly formerDataId: string; sinceMs: number }>(
    MASTERS_MAX,
  );

  /** Notes that a process is a master at this time. */
  note({ id, formerDataId }: RedisProcess, nowMs: number): void {
    if (this.seen.get(id)?.formerDataId !== formerDataId) {
      this.seen.set(id, { formerDataId, sinceMs: nowMs });
    }
  }

  /** Whether a process is known to have been a master since then, without a promotion in between. */
  wasMaster({ id, formerDataId }: RedisProcess, atMs: number): boolean {
    const known = this.seen.get(id);
    return known?.formerDataId === formerDataId && known.sinceMs <= atMs;
  }
}

/** When a slot was served last. */
export interface Served {
  readonly nowMs: number;
  /** When its former master has answered a command last. */
  readonly answeredAtMs: number;
}

/** The limit of masters that are remembered. */
const MASTERS_MAX = 1_000;
/** Redis forgets a promotion after an hour without replicas. Milliseconds. */
const FORGOTTEN_MS = 1_800_000;

/**
 * Tells a slot that was moved to another master with all its data from one whose last writes may be lost: its master was
 * restarted, or a replica was promoted in its place. Where nothing proves the first, it is the second.
 */
export class DataLine {
  /** Changes when writes may have been lost. */
  id = '';
  private readonly masters: SeenMasters;
  private current: RedisProcess | undefined;
  private losses = 0;

  constructor(masters: SeenMasters) {
    this.masters = masters;
  }

  /** The slot is served by this process from now on. */
  follow(process: RedisProcess, served: Served): void {
    const { current } = this;
    if (current === undefined || !this.hasAll(current, process, served)) {
      this.losses += 1;
      this.id = `${process.id} ${this.losses}`;
    }
    this.current = process;
    this.masters.note(process, served.nowMs);
  }

  private hasAll(
    before: RedisProcess,
    now: RedisProcess,
    { nowMs, answeredAtMs }: Served,
  ): boolean {
    const wasPromoted = !isNever(now.formerDataId);
    // Where the service does not say, only what is in Redis decides.
    if (before.id === '' && now.id === '') return true;
    if (now.id === before.id) return !wasPromoted || now.formerDataId === before.formerDataId;
    if (wasPromoted) {
      return now.formerDataId !== before.dataId && this.masters.wasMaster(now, answeredAtMs);
    }
    // Whole seconds: it may be up to one second older.
    const hasRun = now.ageSeconds * 1000 > nowMs - answeredAtMs;
    return hasRun && nowMs - answeredAtMs < FORGOTTEN_MS;
  }
}

function isNever(dataId: string): boolean {
  return /^0*$/.test(dataId);
}
