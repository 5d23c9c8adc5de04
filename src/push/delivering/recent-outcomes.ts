import { isWithin } from './is-within.ts';

/** How long an outcome counts as recent. */
const LATELY_MS = 60_000;

/** Devices to remember of each kind. The majority among this many is as good as the majority among all. */
const ACCEPTED_MAX = 100;
const FAILED_MAX = 4_000;

/**
 * The latest outcomes of the devices on one way: which were accepted within the last minute, and which witnesses have
 * failed since. Moments are numbers that never fall, as tickets are.
 */
export class RecentOutcomes {
  /** Oldest first, as in the other two. */
  private readonly acceptedAtMs = new Map<number, number>();
  /** Times of the failures that no acceptance has contradicted. */
  private readonly openAtMs = new Map<number, number>();
  /** Moments of the failures after which no accepted send has begun. */
  private readonly failedAt = new Map<number, number>();

  /** Takes note of an acceptance, and gives the devices whose failures it contradicts. */
  accepted(device: number, began: number, nowMs: number): readonly number[] {
    renew(this.acceptedAtMs, device, nowMs, ACCEPTED_MAX);
    this.failedAt.delete(device);
    for (const [one, at] of this.failedAt) {
      if (at >= began) break;
      this.failedAt.delete(one);
    }
    if (this.openAtMs.size === 0) return [];
    this.openAtMs.delete(device);
    const contradicted = [...this.openAtMs]
      .filter(([, atMs]) => isWithin(LATELY_MS, atMs, nowMs))
      .map(([one]) => one);
    this.openAtMs.clear();
    return contradicted;
  }

  /** Takes note of a witness that failed. */
  failed(device: number, at: number, nowMs: number): void {
    this.acceptedAtMs.delete(device);
    renew(this.openAtMs, device, nowMs, FAILED_MAX);
    renew(this.failedAt, device, at, FAILED_MAX);
  }

  /** Whether a witness has failed, and no accepted send has begun since. */
  hasFailed(device: number): boolean {
    return this.failedAt.has(device);
  }

  /** Whether a device was accepted within the last minute. */
  isAnyAccepted(nowMs: number): boolean {
    for (const atMs of this.acceptedAtMs.values())
      if (isWithin(LATELY_MS, atMs, nowMs)) return true;
    return false;
  }

  /** How many other devices were accepted within the last minute. */
  othersAccepted(device: number, nowMs: number): number {
    let others = 0;
    for (const [one, atMs] of this.acceptedAtMs) {
      if (one !== device && isWithin(LATELY_MS, atMs, nowMs)) others++;
    }
    return others;
  }

  /** Whether others were accepted within the last minute, at least as many as witnesses have failed since. */
  areOthersWell(device: number, nowMs: number): boolean {
    const others = this.othersAccepted(device, nowMs);
    return others > 0 && others >= this.failedAt.size;
  }

  clear(): void {
    this.acceptedAtMs.clear();
    this.openAtMs.clear();
    this.failedAt.clear();
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
