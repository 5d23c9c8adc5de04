import type { DeviceResult, Job } from '../delivery.ts';
import type { Recipient } from '../device.ts';
import { countDevices, type DeviceCounts } from './holdings.ts';

/** Devices of one job that go the same way. */
export interface PartOfWork {
  /** Whether some of them wait for their turn. */
  readonly hasNext: boolean;
  /** Until then another attempt is worth it. */
  readonly endsAtMs: number;
  /** Until then the first one is. */
  readonly firstTryUntilMs: number;
  /** Why they wait, where it is known. */
  readonly pausedFor: { readonly reason: string; readonly words: string } | undefined;
  /** Whether what else is in the job should not wait for them. */
  holdsUp(nowMs: number): boolean;
  /** Whether nothing is sent to them for longer than it is worth waiting for. */
  isShut(nowMs: number): boolean;
  /** When one of them is to come back that waits no longer. */
  returnMs(nowMs: number): number;
  /** Takes the places of all that wait. */
  takeAll(): readonly number[];
  /** It is not used any more. */
  leave(): void;
}

/** A job on its way: its devices, and what has become of each so far. */
export class Work {
  readonly job: Job;
  /** Those of its devices that are still there. */
  readonly recipients: readonly Recipient[];
  readonly devices: DeviceCounts;
  /** One for each of them, once there is one. */
  readonly results: DeviceResult[] = [];
  readonly parts: PartOfWork[] = [];
  leasedUntilMs: number;
  /** Sends without an outcome yet. */
  inFlight = 0;
  takenAtMs: number;
  /** When something last happened to one of its devices. */
  movedAtMs: number;
  /** Nothing is added any more: it is being kept, or was given up. */
  isClosed = false;
  private readonly attempts: ReadonlyMap<number, number> | undefined;

  constructor(job: Job, recipients: readonly Recipient[], nowMs: number) {
    this.job = job;
    this.recipients = recipients;
    this.devices = countDevices(recipients);
    this.leasedUntilMs = job.job.leasedUntilMs;
    this.takenAtMs = nowMs;
    this.movedAtMs = nowMs;
    this.attempts =
      job.what === 'page'
        ? undefined
        : new Map(job.retries.map(({ device, attempts }) => [device, attempts]));
  }

  get instance(): number {
    return this.job.job.publish.instance;
  }

  get isDone(): boolean {
    return this.results.length === this.recipients.length;
  }

  /** Where the clock was set back, what was ahead of it is so since now: it would last for ever otherwise. */
  keepUpWith(nowMs: number): void {
    this.takenAtMs = Math.min(this.takenAtMs, nowMs);
    this.movedAtMs = Math.min(this.movedAtMs, nowMs);
  }

  /** Attempts before this job. */
  attemptsOf({ number }: Recipient): number {
    return this.attempts?.get(number) ?? 0;
  }
}
