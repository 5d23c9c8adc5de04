import { Recent } from '../../../../runtime/recent.ts';

/** How long an outcome counts as recent. */
const RECENT_MS = 60_000;

/** Most other devices to count. The majority among this many is as good as the majority among all. */
const OTHERS_MAX = 100;

/** Slots for accepted devices. A power of two. */
const SLOTS = 256;

/** Most failed devices to remember. */
const FAILED_MAX = 4_000;

interface Failure {
  readonly atMs: number;
  /** When its send began. */
  readonly began: number;
}

const NONE: readonly number[] = [];

/**
 * The latest outcomes on one route: which devices were accepted within the last minute, and which trusted devices have
 * failed since. An acceptance allocates nothing. Moments are tickets: numbers that never fall.
 */
export class RecentOutcomes {
  /** Fixed-size hash table without collision handling: a collision only makes the count too small. */
  private readonly acceptedDevices = new Float64Array(SLOTS);
  private readonly acceptedAtMs = new Float64Array(SLOTS).fill(Number.NEGATIVE_INFINITY);
  /** The failures that no acceptance has contradicted, by device. Oldest first. */
  private readonly open = new Recent<number, Failure>(FAILED_MAX);
  /** Moments of the failures after which no accepted send has begun, by device. Oldest first. */
  private readonly failedAt = new Recent<number, number>(FAILED_MAX);

  /** Records an acceptance. Returns the devices whose failures it contradicts. */
  accepted(device: number, began: number, nowMs: number): readonly number[] {
    const slot = slotOf(device);
    this.acceptedDevices[slot] = device;
    this.acceptedAtMs[slot] = nowMs;
    if (this.failedAt.size > 0) this.forgetFailedBefore(device, began);
    return this.open.size === 0 ? NONE : this.contradictedBy(device, began, nowMs);
  }

  /** Records the failure of a trusted device, whose send `began` at one moment and failed `at` another. */
  failed(device: number, { began, at }: { began: number; at: number }, nowMs: number): void {
    const slot = slotOf(device);
    if (this.acceptedDevices[slot] === device) this.acceptedAtMs[slot] = Number.NEGATIVE_INFINITY;
    this.open.set(device, { atMs: nowMs, began });
    this.failedAt.set(device, at);
  }

  /** Whether a trusted device has failed, and no accepted send has begun since. */
  hasFailed(device: number): boolean {
    return this.failedAt.has(device);
  }

  /** Whether a device was accepted within the last minute. */
  isAnyAccepted(nowMs: number): boolean {
    return this.acceptedAtMs.some((atMs) => nowMs - atMs < RECENT_MS);
  }

  /** How many other devices were accepted within the last minute, at most `OTHERS_MAX`. */
  othersAccepted(device: number, nowMs: number): number {
    let others = 0;
    // By index: it runs for each device that fails, and an iterator takes ten times as long.
    for (let slot = 0; slot < SLOTS && others < OTHERS_MAX; slot++) {
      const atMs = this.acceptedAtMs[slot] ?? Number.NEGATIVE_INFINITY;
      if (nowMs - atMs < RECENT_MS && this.acceptedDevices[slot] !== device) others++;
    }
    return others;
  }

  /** Whether others were accepted within the last minute, at least as many as trusted devices have failed since. */
  areOthersWell(device: number, nowMs: number): boolean {
    const others = this.othersAccepted(device, nowMs);
    return others > 0 && others >= this.failedAt.size;
  }

  clear(): void {
    this.acceptedAtMs.fill(Number.NEGATIVE_INFINITY);
    this.open.clear();
    this.failedAt.clear();
  }

  private forgetFailedBefore(device: number, began: number): void {
    this.failedAt.delete(device);
    for (const [one, at] of this.failedAt) {
      if (at >= began) break;
      this.failedAt.delete(one);
    }
  }

  /** An acceptance whose send began before that of a failure does not contradict it: the gateway may have gone down since. */
  private contradictedBy(device: number, began: number, nowMs: number): readonly number[] {
    this.open.delete(device);
    const contradicted: number[] = [];
    for (const [one, failure] of this.open) {
      const isOld = nowMs - failure.atMs >= RECENT_MS;
      if (!isOld && failure.began > began) continue;
      this.open.delete(one);
      if (!isOld) contradicted.push(one);
    }
    return contradicted;
  }
}

function slotOf(device: number): number {
  // 2^32 divided by the golden ratio spreads consecutive numbers.
  return Math.imul(device, 0x9e3779b1) >>> 24;
}
