/** What arrived at a gateway. Times are milliseconds since 1970. */
export interface Arrivals {
  readonly notifications: number;
  /** To within the time between two counts. */
  readonly lastAtMs: number;
  /** The highest rate over some whole seconds; 0 if it did not take that long. */
  readonly bestPerSecond: number;
  /** Processor time of the gateway's process for all of them, in seconds. */
  readonly cpuSeconds: number;
}

/** How often arrivals are counted: noting each would cost as much as accepting it. */
const LOOK_MS = 10;

interface Look {
  readonly atMs: number;
  readonly count: number;
}

/** Records how many notifications arrive at this process's gateway, and when. */
export class ArrivalWatch {
  private readonly count: () => number;
  private before = 0;
  /** The looks that found more than the one before. */
  private looks: Look[] = [];
  private cpuBefore = process.cpuUsage();

  /** `count` returns how many there were since the gateway's start. */
  constructor(count: () => number) {
    this.count = count;
  }

  /** Counts from zero from now on. */
  clear(): void {
    this.before = this.count();
    this.looks = [];
    this.cpuBefore = process.cpuUsage();
  }

  /** Settles when this many have arrived, or none has for this long; `overSeconds` is for the highest rate. */
  async reach(wanted: number, silenceMs: number, overSeconds: number): Promise<Arrivals> {
    let lastAtMs = Date.now();
    for (let count = 0; count < wanted; ) {
      await Bun.sleep(LOOK_MS);
      const atMs = Date.now();
      const now = this.count() - this.before;
      if (now > count) {
        count = now;
        lastAtMs = atMs;
        this.looks.push({ atMs, count });
      } else if (atMs - lastAtMs > silenceMs) {
        break;
      }
    }
    const { user, system } = process.cpuUsage(this.cpuBefore);
    return {
      notifications: this.count() - this.before,
      lastAtMs,
      bestPerSecond: bestRate(this.looks, overSeconds),
      cpuSeconds: (user + system) / 1e6,
    };
  }
}

/** Notifications per second in the fastest interval of at least this many seconds; 0 if there is none. */
export function bestRate(looks: readonly Look[], overSeconds: number): number {
  let best = 0;
  let from = 0;
  for (const { atMs, count } of looks) {
    // The last one that is long enough ago.
    while (atMs - (looks[from + 1]?.atMs ?? atMs) >= overSeconds * 1000) from += 1;
    const first = looks[from];
    const tookMs = atMs - (first?.atMs ?? atMs);
    if (first === undefined || tookMs < overSeconds * 1000) continue;
    best = Math.max(best, ((count - first.count) * 1000) / tookMs);
  }
  return best;
}
