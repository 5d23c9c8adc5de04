import { type Platform, platforms } from '../model/device.ts';
import type { DeliveryLimits } from './limits.ts';

/** Devices of a job by their platform. */
export type DeviceCounts = Readonly<Record<Platform, number>>;

/** A device is about as large as so much of a publish's body. */
const CHARACTERS_OF_DEVICE = 512;

interface Share {
  readonly devices: Record<Platform, number>;
  jobs: number;
  /** Those of them that do not count against `instanceJobs`. */
  uncounted: number;
  /** Pages that were left in the store because there was no room for them. */
  ahead: number;
}

/**
 * How much is held in memory, of each instance and platform. One of them that holds much leaves the others their
 * part.
 */
export class Holdings {
  private readonly limits: DeliveryLimits;
  private readonly shares = new Map<number, Share>();
  private heldDevices = 0;
  private heldJobs = 0;
  /** What publishes themselves take, as so many devices. */
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

  /** Where nothing is held of an instance there is always room: it does not wait for the others. */
  hasRoom(instance: number, platform: Platform): boolean {
    const share = this.shares.get(instance);
    if (share === undefined || share.jobs === 0) return true;
    return (
      this.taken < this.limits.sharedDevices &&
      share.jobs - share.uncounted < this.limits.instanceJobs &&
      share.devices[platform] < this.limits.laneDevices
    );
  }

  /** Whether what need not be held of it should go, since others need the memory. */
  isCrowded(instance: number, { apns, fcm, web }: DeviceCounts): boolean {
    if (this.taken > this.limits.sharedDevices / 2) return true;
    return (
      (apns === 0 || !this.hasRoom(instance, 'apns')) &&
      (fcm === 0 || !this.hasRoom(instance, 'fcm')) &&
      (web === 0 || !this.hasRoom(instance, 'web'))
    );
  }

  /** Whether a platform has so much that nothing more is taken in, even where it was claimed. */
  isOverfull(instance: number, platform: Platform): boolean {
    const share = this.shares.get(instance);
    const { laneDevices, jobsAtOnce, pageDevices } = this.limits;
    const most = laneDevices + jobsAtOnce * pageDevices;
    return share !== undefined && share.devices[platform] >= most;
  }

  /** The instances of which there is enough: no platform of which something is held has room for more. */
  full(): readonly number[] {
    return [...this.shares]
      .filter(([instance, { devices, jobs }]) => {
        const held = platforms.filter((platform) => devices[platform] > 0);
        return jobs > 0 && held.every((platform) => !this.hasRoom(instance, platform));
      })
      .map(([instance]) => instance);
  }

  hold(instance: number, devices: DeviceCounts, bodyCharacters = 0): void {
    this.change(instance, devices, bodyCharacters, 1);
  }

  release(instance: number, devices: DeviceCounts, bodyCharacters = 0): void {
    this.change(instance, devices, bodyCharacters, -1);
  }

  /** Some devices of a job are done, and the job is still held. */
  releaseDevices(instance: number, devices: DeviceCounts): void {
    this.changeDevices(this.share(instance), devices, -1);
  }

  /** Stops or starts counting a held job against `instanceJobs`. */
  countJob(instance: number, change: 1 | -1): void {
    this.share(instance).uncounted -= change;
  }

  mayLeaveAhead(instance: number): boolean {
    return (this.shares.get(instance)?.ahead ?? 0) < this.limits.pagesAhead;
  }

  leftAhead(instance: number): void {
    this.share(instance).ahead++;
  }

  /** A page came out of the store. Whether it was left there by this server is not known. */
  cameBack(instance: number): void {
    const share = this.share(instance);
    share.ahead = Math.max(0, share.ahead - 1);
    this.dropIfEmpty(instance, share);
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
    const share: Share = { devices: { apns: 0, fcm: 0, web: 0 }, jobs: 0, uncounted: 0, ahead: 0 };
    this.shares.set(instance, share);
    return share;
  }

  private dropIfEmpty(instance: number, { jobs, ahead }: Share): void {
    if (jobs === 0 && ahead === 0) this.shares.delete(instance);
  }
}

/** How many there are of each platform. */
export function countDevices(devices: readonly { readonly platform: Platform }[]): DeviceCounts {
  const counts: Record<Platform, number> = { apns: 0, fcm: 0, web: 0 };
  for (const { platform } of devices) counts[platform]++;
  return counts;
}
