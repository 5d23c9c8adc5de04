import type { Job, RetryJob } from '../../model/delivery.ts';
import type { DeliveryLimits } from '../limits.ts';
import type { InFlightJob } from './in-flight-job.ts';
import { countDevices, MemoryBudget } from './memory-budget.ts';

/** The jobs that this server holds in memory, and the memory that each instance uses for them. */
export class JobsInFlight {
  readonly budget: MemoryBudget;
  private readonly jobs = new Set<InFlightJob>();
  private readonly pages = new Set<number>();
  /** The devices of retries, by publish. */
  private readonly retries = new Map<number, Set<number>>();

  constructor(limits: DeliveryLimits) {
    this.budget = new MemoryBudget(limits);
  }

  /** A copy, so that callers may drop jobs while they iterate. */
  all(): readonly InFlightJob[] {
    return [...this.jobs];
  }

  get isEmpty(): boolean {
    return this.jobs.size === 0;
  }

  /**
   * Prevents that a job is held twice. Returns the part that was not held yet. If a claim of this server expired and
   * it claimed the same job again, the job in memory continues under the new claim.
   */
  claim(claimed: Job): Job | undefined {
    if (claimed.what === 'page') {
      if (this.pages.has(claimed.page)) {
        this.renew(claimed);
        return undefined;
      }
      this.pages.add(claimed.page);
      return claimed;
    }
    const { publish, devices } = claimed;
    const held = this.retries.get(publish.number) ?? new Set();
    const added = devices.filter((device) => !held.has(device));
    if (added.length < devices.length) this.renew(claimed);
    if (added.length === 0) return undefined;
    for (const device of added) held.add(device);
    this.retries.set(publish.number, held);
    return added.length < devices.length ? onlyDevices(claimed, new Set(added)) : claimed;
  }

  unclaim(claimed: Job): void {
    if (claimed.what === 'page') {
      this.pages.delete(claimed.page);
      return;
    }
    const { publish, devices } = claimed;
    const held = this.retries.get(publish.number);
    for (const device of devices) held?.delete(device);
    if (held?.size === 0) this.retries.delete(publish.number);
  }

  /** Counts the job's memory until `drop`. */
  add(job: InFlightJob): void {
    this.jobs.add(job);
    this.budget.hold(job.instance, job.devices, job.publish.body.length);
  }

  drop(job: InFlightJob): void {
    this.unclaim(job.claim);
    this.jobs.delete(job);
    // `release` expects a counted job, as `hold` has added it.
    if (!job.isCounted) this.budget.countJob(job.instance, 1);
    this.budget.release(job.instance, job.devices, job.publish.body.length);
  }

  /** Stops counting a job against the limit of jobs of its instance. */
  discount(job: InFlightJob): void {
    if (!job.isCounted || !this.jobs.has(job)) return;
    job.isCounted = false;
    this.budget.countJob(job.instance, -1);
  }

  /** Forgets the first results of a job, which are stored now. Their devices may be claimed again. */
  forgetStored(job: InFlightJob, count: number): void {
    const stored = job.forgetStored(count);
    this.budget.releaseDevices(job.instance, countDevices(stored));
    if (job.claim.what === 'page') return;
    const devices = new Set(stored.map(({ device }) => device));
    this.unclaim(onlyDevices(job.claim, devices));
    job.claim = onlyDevices(job.claim, new Set(job.claim.devices).difference(devices));
  }

  private renew(claimed: Job): void {
    for (const job of this.jobs) {
      if (includesAll(claimed, job.claim)) job.claimedUntilMs = claimed.claimedUntilMs;
    }
  }
}

/** Whether `claimed` has all devices of `held`. If it has only some, another server may have claimed the others. */
function includesAll(claimed: Job, held: Job): boolean {
  if (claimed.what === 'page') return held.what === 'page' && held.page === claimed.page;
  if (held.what === 'page' || held.publish.number !== claimed.publish.number) return false;
  const devices = new Set(claimed.devices);
  return held.devices.every((device) => devices.has(device));
}

/** A claim of retries, reduced to some of its devices. */
export function onlyDevices(claim: RetryJob, some: ReadonlySet<number>): RetryJob {
  return {
    ...claim,
    retries: claim.retries.filter(({ device }) => some.has(device)),
    devices: claim.devices.filter((device) => some.has(device)),
  };
}
