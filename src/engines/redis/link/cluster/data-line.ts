import { Recent } from '../../../../runtime/recent.ts';
import type { RedisEndpoint } from '../address.ts';
import type { RedisProcess } from '../check-server.ts';
import type { ClusterMaster, HandOvers } from './hand-over.ts';

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

/** A process serves a slot from now on. */
export interface Served {
  /** Where it can be asked. */
  readonly endpoint: RedisEndpoint;
  readonly nowMs: number;
  /** When the former master of the slot has answered a command last. */
  readonly answeredAtMs: number;
}

/** The limit of masters that are remembered. */
const MASTERS_MAX = 1_000;
/** Redis forgets a promotion after an hour without replicas. Milliseconds. */
const FORGOTTEN_MS = 1_800_000;

/** What the slots of a cluster share. */
export interface DataLineOptions {
  readonly masters: SeenMasters;
  readonly handOvers: HandOvers;
}

/**
 * Tells a slot that came to another master with all its data from one whose last writes may be lost: its master was
 * restarted, or a replica was promoted in its place. Where nothing proves the first, it is the second.
 */
export class DataLine {
  /** Changes when writes may have been lost. */
  id = '';
  private readonly options: DataLineOptions;
  private current: ClusterMaster | undefined;
  /** The promoted replica that is known to have everything. */
  private proven: RedisProcess | undefined;
  private losses = 0;

  constructor(options: DataLineOptions) {
    this.options = options;
  }

  /** Finds out what the former master knows of a process that will serve the slot. */
  async examine(process: RedisProcess): Promise<void> {
    const { current } = this;
    const { handOvers } = this.options;
    const isComplete = current !== undefined && (await handOvers.isComplete(current, process));
    this.proven = isComplete && current === this.current ? process : undefined;
  }

  /** The slot is served by this process from now on. */
  follow(process: RedisProcess, served: Served): void {
    const { current, proven } = this;
    const hasAll = process === proven || (current && this.hasAll(current.process, process, served));
    if (hasAll !== true) {
      this.losses += 1;
      this.id = `${process.id} ${this.losses}`;
    }
    this.current = { process, endpoint: served.endpoint };
    this.proven = undefined;
    this.options.masters.note(process, served.nowMs);
  }

  /**
   * The master has replied to `INFO` again. Its data get a new id without a loss when its first replica comes. After a
   * promotion, `follow` decides.
   */
  confirm(process: RedisProcess): void {
    const { current } = this;
    if (current?.process.id !== process.id || !isNever(process.formerDataId)) return;
    this.current = { ...current, process };
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
      return (
        now.formerDataId !== before.dataId && this.options.masters.wasMaster(now, answeredAtMs)
      );
    }
    // Whole seconds: it may be up to one second older.
    const hasRun = now.ageSeconds * 1000 > nowMs - answeredAtMs;
    return hasRun && nowMs - answeredAtMs < FORGOTTEN_MS;
  }
}

function isNever(dataId: string): boolean {
  return /^0*$/.test(dataId);
}
