import type { Job } from '../delivery.ts';
import { Holdings } from './holdings.ts';
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
   * Keeps a job from being held twice: `false` where it is held already, though its claim has ended meanwhile and
   * it was claimed again. Whoever held it first goes on.
   */
  claim(job: Job): boolean {
    if (job.what === 'page') {
      if (this.pages.has(job.page)) return false;
      this.pages.add(job.page);
      return true;
    }
    const { publish, devices } = job.job;
    const held = this.retries.get(publish.number) ?? new Set();
    if (devices.some((device) => held.has(device))) return false;
    for (const device of devices) held.add(device);
    this.retries.set(publish.number, held);
    return true;
  }

  unclaim(job: Job): void {
    if (job.what === 'page') {
      this.pages.delete(job.page);
      return;
    }
    const { publish, devices } = job.job;
    const held = this.retries.get(publish.number);
    for (const device of devices) held?.delete(device);
    if (held?.size === 0) this.retries.delete(publish.number);
  }

  /** From here on it counts, until `drop`. */
  add(work: Work): void {
    this.works.add(work);
    this.room.hold(work.instance, work.devices, work.job.job.publish.body.length);
  }

  drop(work: Work): void {
    this.unclaim(work.job);
    this.works.delete(work);
    this.room.release(work.instance, work.devices, work.job.job.publish.body.length);
  }
}
