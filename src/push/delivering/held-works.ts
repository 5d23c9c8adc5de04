import type { Job, RetryJob } from '../model/delivery.ts';
import { countDevices, Holdings } from './holdings.ts';
import type { DeliveryLimits } from './limits.ts';
import type { Work } from './work.ts';

/** The jobs that this server holds, and how much of each instance that is. */
export class HeldWorks {
  readonly room: Holdings;
  private readonly works = new Set<Work>();
  private readonly pages = new Set<number>();
  /** The devices of retries, by publish. */
  private readonly retries = new Map<number, Set<number>>();

  constructor(limits: DeliveryLimits) {
    this.room = new Holdings(limits);
  }

  /** A copy: whoever goes through it may end some. */
  all(): readonly Work[] {
    return [...this.works];
  }

  get isEmpty(): boolean {
    return this.works.size === 0;
  }

  /**
   * Keeps a job from being held twice, and gives what of it was not held yet. What is held already had its claim end
   * meanwhile, and was claimed again: whoever held it first goes on, with the new claim.
   */
  claim(job: Job): Job | undefined {
    if (job.what === 'page') {
      if (this.pages.has(job.page)) {
        this.renew(job);
        return undefined;
      }
      this.pages.add(job.page);
      return job;
    }
    const { publish, devices } = job;
    const held = this.retries.get(publish.number) ?? new Set();
    const added = devices.filter((device) => !held.has(device));
    if (added.length < devices.length) this.renew(job);
    if (added.length === 0) return undefined;
    const given = added.length < devices.length ? onlyOf(job, new Set(added)) : job;
    for (const device of added) held.add(device);
    this.retries.set(publish.number, held);
    return given;
  }

  unclaim(job: Job): void {
    if (job.what === 'page') {
      this.pages.delete(job.page);
      return;
    }
    const { publish, devices } = job;
    const held = this.retries.get(publish.number);
    for (const device of devices) held?.delete(device);
    if (held?.size === 0) this.retries.delete(publish.number);
  }

  /** From here on it counts, until `drop`. */
  add(work: Work): void {
    this.works.add(work);
    this.room.hold(work.instance, work.devices, work.job.publish.body.length);
  }

  drop(work: Work): void {
    this.unclaim(work.job);
    this.works.delete(work);
    // It is released as it was added: as a job that counts.
    if (!work.isCounted) this.room.countJob(work.instance, 1);
    this.room.release(work.instance, work.devices, work.job.publish.body.length);
  }

  /** Stops counting a work with only newcomers left among the jobs of its instance. */
  discount(work: Work): void {
    if (!work.isCounted || !this.works.has(work) || !work.hasOnlyNewcomers) return;
    work.isCounted = false;
    this.room.countJob(work.instance, -1);
  }

  /** The first results of a work are kept. Their devices count no more, and may be claimed again. */
  forgetKept(work: Work, count: number): void {
    const kept = work.forgetKept(count);
    this.room.releaseDevices(work.instance, countDevices(kept));
    if (work.job.what === 'page') return;
    const devices = new Set(kept.map(({ device }) => device));
    this.unclaim(onlyOf(work.job, devices));
    work.job = onlyOf(work.job, new Set(work.job.devices).difference(devices));
  }

  private renew(claimed: Job): void {
    for (const work of this.works) {
      if (holdsAll(claimed, work.job)) work.claimedUntilMs = claimed.claimedUntilMs;
    }
  }
}

/** Where only some devices of a job were claimed, the rest may be another server's: its claim has still ended. */
function holdsAll(claimed: Job, held: Job): boolean {
  if (claimed.what === 'page') return held.what === 'page' && held.page === claimed.page;
  if (held.what === 'page' || held.publish.number !== claimed.publish.number) return false;
  const devices = new Set(claimed.devices);
  return held.devices.every((device) => devices.has(device));
}

/** A job of retries as if it had only those of its devices. */
export function onlyOf(job: RetryJob, some: ReadonlySet<number>): RetryJob {
  return {
    ...job,
    retries: job.retries.filter(({ device }) => some.has(device)),
    devices: job.devices.filter((device) => some.has(device)),
  };
}
