import type {
  DeviceResult,
  DueRetry,
  Job,
  LeftOut,
  PublishUnderWay,
} from '../../model/delivery.ts';
import type { Platform, Recipient } from '../../model/device.ts';
import { noTaps, type PushTaps } from '../../watching/push-tap.ts';
import { DueTimes, type Manners } from '../due-times.ts';
import { readStoredPublish, type StoredPublish } from '../stored-publish.ts';
import { countDevices } from './memory-budget.ts';

export interface InFlightJobOptions {
  /** By the steady clock. */
  readonly nowMs: number;
  /** The publish, if it was read already. */
  readonly storedPublish?: StoredPublish | undefined;
  readonly taps?: PushTaps | undefined;
  /** What the instance says for devices that say nothing themselves. */
  readonly manners?: Manners | undefined;
  /** Called when the job has its first result that is not stored yet. */
  readonly onUnstored?: (job: InFlightJob) => void;
}

/** A claimed job in memory: its devices, and the result of each so far. */
export class InFlightJob {
  /** Whether it gets no more results: every device has one, or nothing was sent and the job goes back to the store. */
  isClosed = false;
  /** The claim. A claim of retries shrinks as results are stored. */
  claim: Job;
  /** The devices that still exist. `undefined` once the result of one is stored. */
  readonly recipients: (Recipient | undefined)[];
  /** How many devices have no stored result yet. */
  readonly devices: Record<Platform, number>;
  /** Results that are not stored yet. */
  readonly results: DeviceResult[] = [];
  /** By the system's clock. */
  claimedUntilMs: number;
  /** Sends without an outcome yet. */
  inFlight = 0;
  /** By the steady clock, like the time of the last send or outcome. */
  readonly claimedAtMs: number;
  /** Shows the outcomes in live streams. */
  readonly taps: PushTaps;
  movedAtMs: number;
  /** Whether the job counts against the limit of jobs of its instance. */
  isCounted = true;
  /** Settles when storing results has ended, whether it succeeded or not. */
  storing: Promise<void> | undefined;
  private stored = 0;
  private places: ReadonlyMap<number, number> | undefined;
  private readonly retries: ReadonlyMap<number, DueRetry> | undefined;
  private readonly onUnstored: (job: InFlightJob) => void;
  private readonly manners: Manners;
  private knownDueTimes: DueTimes | undefined;
  private readPublish: { readonly value: StoredPublish | undefined } | undefined;

  constructor(
    claim: Job,
    recipients: readonly Recipient[],
    {
      nowMs,
      storedPublish: value,
      taps = noTaps,
      manners = {},
      onUnstored = () => undefined,
    }: InFlightJobOptions,
  ) {
    this.claim = claim;
    this.recipients = recipients.slice();
    this.devices = countDevices(recipients);
    this.claimedUntilMs = claim.claimedUntilMs;
    this.claimedAtMs = nowMs;
    this.movedAtMs = nowMs;
    this.onUnstored = onUnstored;
    this.taps = taps;
    this.manners = manners;
    this.readPublish = value && { value };
    this.retries =
      claim.what === 'page'
        ? undefined
        : new Map(claim.retries.map((retry) => [retry.device, retry]));
  }

  get publish(): PublishUnderWay {
    return this.claim.publish;
  }

  get instance(): number {
    return this.publish.instance;
  }

  /** The target and the payloads of the publish. They are read when they are first needed, and once. */
  get storedPublish(): StoredPublish | undefined {
    this.readPublish ??= { value: readStoredPublish(this.publish) };
    return this.readPublish.value;
  }

  /** Whether all results so far are in the store. */
  get isStored(): boolean {
    return this.results.length === 0 && this.storing === undefined;
  }

  get hasResults(): boolean {
    return this.stored + this.results.length > 0;
  }

  /** Whether every device has a result. */
  get isDone(): boolean {
    return this.stored + this.results.length === this.recipients.length;
  }

  /** Adds the result of one device. Each device gets one result. */
  settle(result: DeviceResult): void {
    this.results.push(result);
    if (this.results.length === 1) this.onUnstored(this);
  }

  /** Forgets the first results, which are stored now, and their devices. Returns those results. */
  forgetStored(count: number): readonly DeviceResult[] {
    const stored = this.results.splice(0, count);
    for (const { device } of stored) this.forget(device);
    if (this.results.length > 0) this.onUnstored(this);
    return stored;
  }

  /** Attempts before this job. */
  attemptsOf({ number }: Recipient): number {
    return this.retries?.get(number)?.attempts ?? 0;
  }

  /** The reason for which a device is not tried any more, if there is one. */
  endedFor({ number }: Recipient): string | undefined {
    return this.retries?.get(number)?.endedFor;
  }

  /** For how long a device has waited because of the `perSecond` of its publish. */
  pacedMs({ number }: Recipient): number {
    const { claim } = this;
    const pacedMs =
      claim.what === 'page' ? claim.pacedMs?.get(number) : this.retries?.get(number)?.pacedMs;
    return pacedMs ?? 0;
  }

  /** Why a device of a page does not get it; `undefined`: it does. */
  leftOut({ number }: Recipient): LeftOut | undefined {
    return this.claim.what === 'page' ? this.claim.leftOut?.get(number) : undefined;
  }

  /** When its devices are due; `undefined`: the publish cannot be read. */
  get dueTimes(): DueTimes | undefined {
    const { storedPublish: stored, publish } = this;
    if (stored !== undefined) this.knownDueTimes ??= new DueTimes(publish, stored, this.manners);
    return this.knownDueTimes;
  }

  /** How many of some results end a device that came back because its turn had taken too long. */
  endedAfterWaiting(results: readonly DeviceResult[]): number {
    const { retries } = this;
    if (retries === undefined) return 0;
    return results.filter(
      ({ what, device }) => what !== 'retry' && retries.get(device)?.hasWaited === true,
    ).length;
  }

  private forget(device: number): void {
    this.places ??= new Map(this.recipients.map((one, place) => [one?.number ?? 0, place]));
    const place = this.places.get(device) ?? -1;
    const recipient = this.recipients[place];
    if (recipient === undefined) return;
    this.recipients[place] = undefined;
    this.devices[recipient.platform]--;
    this.stored++;
  }
}
