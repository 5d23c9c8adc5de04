import { byPlatform, type Platform, platforms } from '../../model/device.ts';
import type { DeliveryLimits } from '../limits.ts';

/** Devices by platform. */
export type DeviceCounts = Readonly<Record<Platform, number>>;

/** A device in memory takes about as much as this many characters of a publish's body. */
const CHARACTERS_OF_DEVICE = 512;

interface Share {
  readonly devices: Record<Platform, number>;
  jobs: number;
  /** Jobs that do not count against `instanceJobs`. */
  uncounted: number;
  /** Pages that this server left in the store for lack of memory. */
  ahead: number;
}

/** Shares the memory for jobs among instances and platforms, so that a large one leaves room for the others. */
export class MemoryBudget {
  private readonly limits: DeliveryLimits;
  private readonly shares = new Map<number, Share>();
  private heldDevices = 0;
  private heldJobs = 0;
  /** The memory of publish bodies, converted to devices. */
  private heldBodies = 0;

  constructor(limits: DeliveryLimits) {
    this.limits = limits;
  }

  get devices(): number {
    return this.heldDevices;
  }

  get jobs(): number {
    return this.heldJobs;
  }

  /** Whether another job may be claimed. An instance without jobs always has room, so it never waits for others. */
  hasRoom(instance: number, platform: Platform): boolean {
    const share = this.shares.get(instance);
    if (share === undefined || share.jobs === 0) return true;
    return (
      this.taken < this.limits.sharedDevices &&
      share.jobs - share.uncounted < this.limits.instanceJobs &&
      share.devices[platform] < this.limits.platformDevices
    );
  }

  /** Whether jobs that only wait should give up their memory. */
  isCrowded(instance: number, devices: DeviceCounts): boolean {
    return this.taken > this.limits.sharedDevices / 2 || this.isFull(instance, devices);
  }

  /** Whether a platform has so much in memory that even a claimed job is released. */
  isOverfull(instance: number, platform: Platform): boolean {
    const share = this.shares.get(instance);
    const { platformDevices, jobsAtOnce, pageDevices } = this.limits;
    const most = platformDevices + jobsAtOnce * pageDevices;
    return share !== undefined && share.devices[platform] >= most;
  }

  /** Instances with no room for more: every platform with devices in memory is full. */
  full(): readonly number[] {
    return [...this.shares]
      .filter(([instance, { devices, jobs }]) => jobs > 0 && this.isFull(instance, devices))
      .map(([instance]) => instance);
  }

  hold(instance: number, devices: DeviceCounts, bodyCharacters = 0): void {
    this.change(instance, devices, bodyCharacters, 1);
  }

  release(instance: number, devices: DeviceCounts, bodyCharacters = 0): void {
    this.change(instance, devices, bodyCharacters, -1);
  }

  /** Releases devices of a job that itself is still held. */
  releaseDevices(instance: number, devices: DeviceCounts): void {
    this.changeDevices(this.share(instance), devices, -1);
  }

  /** Stops or starts counting a held job against `instanceJobs`. */
  countJob(instance: number, change: 1 | -1): void {
    this.share(instance).uncounted -= change;
  }

  /** Whether planning may leave another page in the store. */
  mayStorePage(instance: number): boolean {
    return (this.shares.get(instance)?.ahead ?? 0) < this.limits.pagesAhead;
  }

  storedPage(instance: number): void {
    this.share(instance).ahead++;
  }

  /** Counts a page that was claimed. Another server may have left it in the store. */
  claimedPage(instance: number): void {
    const share = this.share(instance);
    share.ahead = Math.max(0, share.ahead - 1);
    this.dropIfEmpty(instance, share);
  }

  /** Whether there is no room for any of the platforms of some devices. */
  private isFull(instance: number, devices: DeviceCounts): boolean {
    return platforms.every(
      (platform) => devices[platform] === 0 || !this.hasRoom(instance, platform),
    );
  }

  private get taken(): number {
    return this.heldDevices + this.heldBodies;
  }

  private change(
    instance: number,
    devices: DeviceCounts,
    bodyCharacters: number,
    sign: 1 | -1,
  ): void {
    const share = this.share(instance);
    this.changeDevices(share, devices, sign);
    this.heldBodies += sign * Math.floor(bodyCharacters / CHARACTERS_OF_DEVICE);
    share.jobs += sign;
    this.heldJobs += sign;
    this.dropIfEmpty(instance, share);
  }

  private changeDevices(share: Share, devices: DeviceCounts, sign: 1 | -1): void {
    for (const platform of platforms) {
      share.devices[platform] += sign * devices[platform];
      this.heldDevices += sign * devices[platform];
    }
  }

  private share(instance: number): Share {
    const known = this.shares.get(instance);
    if (known !== undefined) return known;
    const share: Share = { devices: byPlatform(() => 0), jobs: 0, uncounted: 0, ahead: 0 };
    this.shares.set(instance, share);
    return share;
  }

  private dropIfEmpty(instance: number, { jobs, ahead }: Share): void {
    if (jobs === 0 && ahead === 0) this.shares.delete(instance);
  }
}

/** Counts devices by platform. */
export function countDevices(
  devices: readonly { readonly platform: Platform }[],
): Record<Platform, number> {
  // A literal: an object from a shared function takes ten times as long here.
  const counts = { apns: 0, fcm: 0, web: 0 };
  for (const { platform } of devices) counts[platform]++;
  return counts;
}
