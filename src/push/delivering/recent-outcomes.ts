import { isWithin } from './is-within.ts';

/** How long an outcome counts as recent. */
const LATELY_MS = 60_000;

/** Most other devices to count. The majority among this many is as good as the majority among all. */
const OTHERS_MAX = 100;

/** Places for accepted devices. A power of two. */
const PLACES = 256;

/** Failed devices to remember of each kind. */
const FAILED_MAX = 4_000;

const NONE: readonly number[] = [];

/**
 * The latest outcomes of the devices on one way: which were accepted within the last minute, and which witnesses have
 * failed since. Moments are numbers that never fall, as tickets are.
 */
export class RecentOutcomes {
  /**
   * The accepted devices, each at the place of its hash, and when they were accepted. Two devices with the same place
   * replace each other, so fewer may be counted than were accepted. Nothing is allocated for an acceptance.
   */
  private readonly accepteds = new Float64Array(PLACES);
  private readonly acceptedAtMs = new Float64Array(PLACES).fill(Number.NEGATIVE_INFINITY);
  /** Times of the failures that no acceptance has contradicted. Oldest first, as in the other. */
  private readonly openAtMs = new Map<number, number>();
  /** Moments of the failures after which no accepted send has begun. */
  private readonly failedAt = new Map<number, number>();

  /** Takes note of an acceptance, and gives the devices whose failures it contradicts. */
  accepted(device: number, began: number, nowMs: number): readonly number[] {
    const place = placeOf(device);
    this.accepteds[place] = device;
    this.acceptedAtMs[place] = nowMs;
    if (this.failedAt.size > 0) this.forgetFailedBefore(device, began);
    return this.openAtMs.size === 0 ? NONE : this.contradictedBy(device, nowMs);
  }

  /** Takes note of a witness that failed. */
  failed(device: number, at: number, nowMs: number): void {
    const place = placeOf(device);
    if (this.accepteds[place] === device) this.acceptedAtMs[place] = Number.NEGATIVE_INFINITY;
    renew(this.openAtMs, device, nowMs, FAILED_MAX);
    renew(this.failedAt, device, at, FAILED_MAX);
  }

  /** Whether a witness has failed, and no accepted send has begun since. */
  hasFailed(device: number): boolean {
    return this.failedAt.has(device);
  }

  /** Whether a device was accepted within the last minute. */
  isAnyAccepted(nowMs: number): boolean {
    return this.acceptedAtMs.some((atMs) => isWithin(LATELY_MS, atMs, nowMs));
  }

  /** How many other devices were accepted within the last minute, `OTHERS_MAX` at most. */
  othersAccepted(device: number, nowMs: number): number {
    let others = 0;
    for (const [place, atMs] of this.acceptedAtMs.entries()) {
      if (isWithin(LATELY_MS, atMs, nowMs) && this.accepteds[place] !== device) others++;
      if (others === OTHERS_MAX) break;
    }
    return others;
  }

  /** Whether others were accepted within the last minute, at least as many as witnesses have failed since. */
  areOthersWell(device: number, nowMs: number): boolean {
    const others = this.othersAccepted(device, nowMs);
    return others > 0 && others >= this.failedAt.size;
  }

  clear(): void {
    this.acceptedAtMs.fill(Number.NEGATIVE_INFINITY);
    this.openAtMs.clear();
    this.failedAt.clear();
  }

  private forgetFailedBefore(device: number, began: number): void {
    this.failedAt.delete(device);
    for (const [one, at] of this.failedAt) {
      if (at >= began) break;
      this.failedAt.delete(one);
    }
  }

  private contradictedBy(device: number, nowMs: number): readonly number[] {
    this.openAtMs.delete(device);
    const contradicted = [...this.openAtMs]
      .filter(([, atMs]) => isWithin(LATELY_MS, atMs, nowMs))
      .map(([one]) => one);
    this.openAtMs.clear();
    return contradicted;
  }
}

/** Puts a device at the end of a map, and forgets the oldest beyond `max`. */
function renew(map: Map<number, number>, device: number, value: number, max: number): void {
  map.delete(device);
  map.set(device, value);
  if (map.size <= max) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

function placeOf(device: number): number {
  // Multiplied by 2^32 divided by the golden ratio, which spreads numbers that follow each other.
  return Math.imul(device, 0x9e3779b1) >>> 24;
}
