import type { DeviceResult, Job } from '../model/delivery.ts';
import type { Platform, Recipient } from '../model/device.ts';
import { countDevices, type DeviceCounts } from './holdings.ts';

/** Devices of one job that go the same way. */
export interface PartOfWork {
  /** What it shares with other parts on the same way. */
  readonly way: object;
  /** Whether no gateway has accepted any of its devices yet. */
  readonly areNewcomers: boolean;
  /** Whether some of them wait for their turn. */
  readonly hasNext: boolean;
  /** Whether no device waits or is being sent to. */
  readonly isOver: boolean;
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

export interface WorkOptions {
  readonly nowMs: number;
  /** Hears that the work has results of which none is kept in the store. */
  readonly unkept?: (work: Work) => void;
}

/** A job on its way: its devices, and what has become of each so far. */
export class Work {
  /** Of retries, without those whose results are kept. */
  job: Job;
  /** Those of its devices that are still there; `undefined` once the result of one is kept. */
  readonly recipients: (Recipient | undefined)[];
  /** Those whose results are not kept. It changes. */
  readonly devices: DeviceCounts;
  /** Not kept yet. */
  readonly results: DeviceResult[] = [];
  readonly parts: PartOfWork[] = [];
  claimedUntilMs: number;
  /** Sends without an outcome yet. */
  inFlight = 0;
  takenAtMs: number;
  /** When something last happened to one of its devices. */
  movedAtMs: number;
  /** Whether it counts among the held jobs of its instance. */
  isCounted = true;
  /** Nothing is added any more: it is being kept, or was given up. */
  isClosed = false;
  /** Settles when results that are on their way to the store are kept, or are not. */
  keeping: Promise<void> | undefined;
  private readonly left: Record<Platform, number>;
  private kept = 0;
  private places: ReadonlyMap<number, number> | undefined;
  private readonly attempts: ReadonlyMap<number, number> | undefined;
  private readonly unkept: (work: Work) => void;

  constructor(
    job: Job,
    recipients: readonly Recipient[],
    { nowMs, unkept = () => undefined }: WorkOptions,
  ) {
    this.job = job;
    this.recipients = recipients.slice();
    this.left = { ...countDevices(recipients) };
    this.devices = this.left;
    this.claimedUntilMs = job.claimedUntilMs;
    this.takenAtMs = nowMs;
    this.movedAtMs = nowMs;
    this.unkept = unkept;
    this.attempts =
      job.what === 'page'
        ? undefined
        : new Map(job.retries.map(({ device, attempts }) => [device, attempts]));
  }

  get instance(): number {
    return this.job.publish.instance;
  }

  /** Whether only newcomers are left. */
  get hasOnlyNewcomers(): boolean {
    return this.parts.every(({ areNewcomers, isOver }) => areNewcomers || isOver);
  }

  /** Whether all results so far are in the store. */
  get isKept(): boolean {
    return this.results.length === 0 && this.keeping === undefined;
  }

  get isBegun(): boolean {
    return this.kept + this.results.length > 0;
  }

  get isDone(): boolean {
    return this.kept + this.results.length === this.recipients.length;
  }

  /** Takes the result of one of its devices; there is one for each. */
  settle(result: DeviceResult): void {
    this.results.push(result);
    if (this.results.length === 1) this.unkept(this);
  }

  /** The first of its results are kept: they and their devices are forgotten. */
  forgetKept(count: number): readonly DeviceResult[] {
    const kept = this.results.splice(0, count);
    for (const { device } of kept) this.forget(device);
    if (this.results.length > 0) this.unkept(this);
    return kept;
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

  private forget(device: number): void {
    this.places ??= new Map(this.recipients.map((one, place) => [one?.number ?? 0, place]));
    const place = this.places.get(device) ?? -1;
    const recipient = this.recipients[place];
    if (recipient === undefined) return;
    this.recipients[place] = undefined;
    this.left[recipient.platform]--;
    this.kept++;
  }
}
