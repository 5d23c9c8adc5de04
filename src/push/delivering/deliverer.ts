import type { AfterPart, DeviceResult, Job } from '../model/delivery.ts';
import { byPlatform, type Platform, platforms, type Recipient } from '../model/device.ts';
import { InFlightJob } from './jobs/in-flight-job.ts';
import { type GivenBack, JobsGivenBack } from './jobs/jobs-given-back.ts';
import { JobsInFlight } from './jobs/jobs-in-flight.ts';
import { countDevices } from './jobs/memory-budget.ts';
import { JobProgress } from './jobs/progress.ts';
import { type DeliveryLimits, PARK_MS, PATIENCE_MS, STUCK_MS } from './limits.ts';
import { OutcomeCounts } from './outcome-counts.ts';
import type { PlaceForPage, PlannedPage } from './planning/planned-page.ts';
import type {
  CircuitEvent,
  DeliveredInstance,
  LastOutcomes,
  OpenCircuit,
  PipelinePorts,
} from './ports.ts';
import type { EndedAfterWaiting } from './retry-recovery.ts';
import { settleDevice } from './routes/devices/device-result.ts';
import {
  expireWaiting,
  returnLater,
  returnNow,
  returnUnanswered,
} from './routes/devices/returning-devices.ts';
import { Dispatcher } from './routes/dispatcher.ts';
import { gatewayRates } from './routes/gateway-rates.ts';
import { noGateways } from './routes/no-gateway.ts';
import type { AnyGateway } from './routes/prepared-publish.ts';
import { hasOnlyProbe, type Slice } from './routes/route.ts';
import { SteadyClock } from './steady-clock.ts';
import type { StoreAccess } from './store-access.ts';
import type { StoredPublish } from './stored-publish.ts';

/** Reasons of devices that come back without having been sent to. */
const CLAIM_ENDED = 'claim-ended';
const CANCELLED = 'cancelled';

/** How often the devices of a claimed job are read before it is given up. */
const READ_TRIES = 3;

export interface DelivererOptions {
  readonly ports: PipelinePorts;
  readonly limits: DeliveryLimits;
  readonly access: StoreAccess;
  /** Called when there may be room for more jobs. `hasRetries`: some results must be retried. */
  readonly onRoom: (hasRetries: boolean) => void;
  readonly onEndedAfterWaiting: (ended: EndedAfterWaiting) => void;
}

/**
 * Delivers the jobs of all instances: passes their devices to the dispatchers, decides what happens to devices that
 * wait too long, and stores the results.
 */
export class Deliverer {
  readonly held: JobsInFlight;
  readonly counts = new OutcomeCounts();
  private readonly ports: PipelinePorts;
  private readonly limits: DeliveryLimits;
  private readonly access: StoreAccess;
  private readonly clock: SteadyClock;
  private readonly onRoom: DelivererOptions['onRoom'];
  private readonly onEndedAfterWaiting: DelivererOptions['onEndedAfterWaiting'];
  private readonly dispatchers = new Map<string, Dispatcher>();
  /** By the name of the dispatcher. */
  private readonly last = new Map<string, LastOutcomes>();
  private readonly slices = new Map<InFlightJob, Slice[]>();
  /** Claimed jobs that this server cannot use now. They are given back together. */
  private readonly givenBack: JobsGivenBack;
  /** Instances whose unfinished publishes take most of their room. Jobs of theirs do not wait here for open circuits. */
  private readonly pressed = new Set<number>();
  private readonly progress: JobProgress;
  private isStopping = false;
  private onEmpty: (() => void) | undefined;

  constructor({ ports, limits, access, onRoom, onEndedAfterWaiting }: DelivererOptions) {
    this.ports = ports;
    this.limits = limits;
    this.access = access;
    this.clock = new SteadyClock(ports.timers);
    this.onRoom = onRoom;
    this.onEndedAfterWaiting = onEndedAfterWaiting;
    this.held = new JobsInFlight(limits);
    this.givenBack = new JobsGivenBack(ports, limits, access);
    this.progress = new JobProgress(ports, access, (job, count, after) =>
      this.onProgress(job, count, after),
    );
  }

  /** Sends in flight. */
  get sending(): number {
    let sending = 0;
    for (const dispatcher of this.dispatchers.values()) sending += dispatcher.sending;
    return sending;
  }

  /** Devices that fail while others are accepted. */
  get pausedDevices(): number {
    let devices = 0;
    for (const { pauses } of this.dispatchers.values()) devices += pauses.size;
    return devices;
  }

  /**
   * The latest outcome of each gateway by instance. Kept even if the instance is quiet and its dispatcher was
   * removed.
   */
  lastOutcomes(instance: number, platform: Platform): LastOutcomes {
    const name = nameOfDispatcher(instance, platform);
    const known = this.last.get(name);
    if (known !== undefined) return known;
    const last: LastOutcomes = { acceptedAtMs: undefined, refusal: undefined };
    this.last.set(name, last);
    return last;
  }

  openCircuits(): readonly OpenCircuit[] {
    return [...this.dispatchers.values()].flatMap((dispatcher) => dispatcher.openCircuits());
  }

  /** Instances from which no more jobs are needed now. */
  except(): readonly number[] {
    const notNeeded = this.givenBack.instances(this.clock.now());
    return [...new Set([...this.held.budget.full(), ...notNeeded])];
  }

  /** Instances of which jobs may wait for open circuits, or must not. */
  waiting(): ReadonlySet<number> {
    return new Set([...this.pressed, ...this.openCircuits().map(({ instance }) => instance)]);
  }

  /**
   * Decides whether jobs of an instance may wait here for open circuits. If not, those that do are given back now, and
   * the store has them when this settles.
   */
  async press(instance: number, isPressed: boolean): Promise<void> {
    if (!isPressed) {
      this.pressed.delete(instance);
      return;
    }
    this.pressed.add(instance);
    for (const job of this.held.all()) if (job.instance === instance) this.decide(job);
    await this.givenBack.store();
  }

  /** Where a page with devices of these platforms goes. Room on one platform is enough, since it waits for no other. */
  placeFor(instance: number, some: Iterable<Platform>): PlaceForPage {
    const { budget } = this.held;
    const open = [...some].filter((platform) => !this.isShut(instance, platform));
    if (open.some((platform) => budget.hasRoom(instance, platform))) return 'here';
    if (!budget.mayStorePage(instance)) return 'nowhere';
    return open.length > 0 ? 'store' : 'store-later';
  }

  /** Delivers a page that was just planned. */
  deliverPlanned({ recipients, stored, ...planned }: PlannedPage): void {
    const devices = recipients.map(({ number }) => number);
    const claim: Job = { what: 'page', ...planned, devices };
    this.held.claim(claim);
    this.begin(claim, recipients, stored);
  }

  /** Delivers a job that was claimed. Never throws. */
  async deliverClaimed(claimed: Job): Promise<void> {
    const { publish } = claimed;
    const { instance } = publish;
    if (claimed.what === 'page') this.held.budget.claimedPage(instance);
    const claim = this.held.claim(claimed);
    if (claim === undefined) return;
    const { devices } = claim;
    const { audience } = this.ports;
    // The next claim waits for this, so it must not take forever.
    const recipients = await this.access.insist(
      () => audience.recipients(instance, devices),
      READ_TRIES,
    );
    const why = recipients === undefined ? 'unread' : this.isUnneeded(instance, recipients);
    if (recipients !== undefined && why === undefined) this.begin(claim, recipients);
    else this.giveBack(claim, { isHeld: why === 'shut', notNeededSinceMs: this.clock.now() });
  }

  /** To be called each `CHECK_MS`. Returns which circuits have opened and closed. */
  check(): readonly CircuitEvent[] {
    this.clock.tick();
    this.useGateways();
    const events: CircuitEvent[] = [];
    for (const [name, dispatcher] of this.dispatchers) {
      events.push(...dispatcher.check());
      if (dispatcher.isIdle()) this.dispatchers.delete(name);
    }
    const nowMs = this.clock.now();
    for (const job of this.held.all()) {
      this.decide(job);
      if (job.inFlight > 0 && nowMs - job.movedAtMs > STUCK_MS) {
        this.ports.notices.fault(new Error('a gateway gives no outcome'));
        this.endUnanswered(job);
      }
    }
    void this.givenBack.store();
    return events;
  }

  clockSetBack(byMs: number): void {
    for (const dispatcher of this.dispatchers.values()) dispatcher.pauses.clockSetBack(byMs);
  }

  /** Makes the dispatchers use replaced gateways. */
  useGateways(): void {
    for (const dispatcher of this.dispatchers.values()) {
      const instance = this.ports.instances.byNumber(dispatcher.instance);
      if (instance === undefined) continue;
      dispatcher.use(gatewayOf(instance, dispatcher.platform), instance.retryMs);
    }
  }

  /**
   * Stops sending, waits at most `stopMs` for sends in flight, and stores their results. Jobs without a send stay in
   * the store.
   */
  async stop(): Promise<void> {
    this.isStopping = true;
    for (const dispatcher of this.dispatchers.values()) dispatcher.stop();
    for (const job of this.held.all()) this.decide(job);
    // The process may be killed while it waits for the gateways.
    this.progress.storeAll();
    await this.untilEmpty(this.limits.stopMs);
    for (const job of this.held.all()) this.endUnanswered(job);
    await this.untilEmpty(this.limits.storeStopMs);
  }

  private begin(claim: Job, recipients: readonly Recipient[], stored?: StoredPublish): void {
    const instance = this.ports.instances.byNumber(claim.publish.instance);
    const job = new InFlightJob(claim, recipients, {
      nowMs: this.clock.now(),
      manners: instance?.manners,
      storedPublish: stored,
      taps: this.ports.taps,
      onUnstored: this.progress.add,
    });
    this.held.add(job);
    if (instance === undefined || this.isStopping) {
      // Another server knows the instance, or this one will when the claim has expired.
      this.returnJob(job);
      return;
    }
    const slices: Slice[] = [];
    this.slices.set(job, slices);
    const places = byPlatform((): number[] => []);
    for (const [place, recipient] of recipients.entries()) {
      if (!this.isLeftOut(job, recipient)) places[recipient.platform].push(place);
    }
    const used: Dispatcher[] = [];
    for (const platform of platforms) {
      if (places[platform].length === 0) continue;
      const dispatcher = this.dispatcherOf(instance, job.instance, platform);
      slices.push(...dispatcher.add(job, places[platform]));
      used.push(dispatcher);
    }
    for (const dispatcher of used) dispatcher.start();
    this.discountIfUntrusted(job);
    this.decide(job);
  }

  /** Settles a device that does not get it, and returns whether it did. */
  private isLeftOut(job: InFlightJob, recipient: Recipient): boolean {
    const why = job.leftOut(recipient);
    if (why === undefined) return false;
    this.counts.count(recipient.platform, why);
    settleDevice(job, recipient, 0, why);
    return true;
  }

  private dispatcherOf(
    instance: DeliveredInstance,
    number: number,
    platform: Platform,
  ): Dispatcher {
    const name = nameOfDispatcher(number, platform);
    const gateway = gatewayOf(instance, platform);
    const known = this.dispatchers.get(name);
    if (known !== undefined) {
      known.use(gateway, instance.retryMs);
      return known;
    }
    const { timers, random, notices, rates = gatewayRates } = this.ports;
    const dispatcher = new Dispatcher({
      instance: number,
      instanceId: instance.id,
      gateway,
      retryMs: instance.retryMs,
      rate: rates[platform],
      limits: this.limits,
      timers,
      clock: this.clock,
      random,
      notices,
      count: (after) => this.counts.count(platform, after),
      last: this.lastOutcomes(number, platform),
      onIdle: this.decide,
    });
    this.dispatchers.set(name, dispatcher);
    return dispatcher;
  }

  private isShut(instance: number, platform: Platform): boolean {
    const dispatcher = this.dispatchers.get(nameOfDispatcher(instance, platform));
    return dispatcher?.isShut(this.patienceMs(instance)) ?? false;
  }

  /** Why no platform can accept a claimed job now: circuits are open, or there is no room. `undefined`: one can. */
  private isUnneeded(
    instance: number,
    recipients: readonly Recipient[],
  ): 'shut' | 'full' | undefined {
    const devices = countDevices(recipients);
    const used = platforms.filter((platform) => devices[platform] > 0);
    if (used.length === 0) return undefined;
    const open = used.filter((platform) => !this.isShut(instance, platform));
    if (open.length === 0) return 'shut';
    const isFull = (platform: Platform) => this.held.budget.isOverfull(instance, platform);
    return open.every(isFull) ? 'full' : undefined;
  }

  /** How long a job waits here for an open circuit. */
  private patienceMs(instance: number): number {
    return this.pressed.has(instance) ? 0 : PATIENCE_MS;
  }

  private slicesOf(job: InFlightJob): readonly Slice[] {
    return this.slices.get(job) ?? [];
  }

  /** Decides what happens to a job with no send in flight. */
  private readonly decide = (job: InFlightJob): void => {
    if (job.isClosed || job.inFlight > 0) return;
    if (!job.isDone) this.decideWaiting(job);
    if (!job.isClosed && job.isDone) this.settle(job);
  };

  /** Decides whether the devices that wait may wait on. */
  private decideWaiting(job: InFlightJob): void {
    const wallMs = this.ports.timers.now();
    const slices = this.slicesOf(job);
    if (this.isStopping || wallMs >= job.claimedUntilMs) {
      if (!job.hasResults) this.returnJob(job);
      else for (const slice of slices) returnNow(slice, CLAIM_ENDED, wallMs);
      return;
    }
    const nowMs = this.clock.at(wallMs);
    const patienceMs = this.patienceMs(job.instance);
    let areShut = true;
    for (const slice of slices) {
      if (!slice.hasNext) continue;
      if (!slice.holdsUp(nowMs, patienceMs)) return;
      if (!slice.isShut(nowMs, patienceMs)) areShut = false;
      else expireWaiting(slice, wallMs);
    }
    if (job.isDone) return;
    if (shouldReturnDevices(job, slices, areShut)) {
      for (const slice of slices) returnLater(slice, { nowMs, wallMs });
      return;
    }
    if (!areShut || !job.isStored) return;
    // In memory, devices and publish grow old: tokens change, and the publish may be cancelled.
    const isOld = nowMs - job.claimedAtMs > PARK_MS;
    const mustLeave = isOld || this.held.budget.isCrowded(job.instance, job.devices);
    // One that probes a circuit stays, or nothing would close it.
    const mayLeave = this.pressed.has(job.instance) && !hasOnlyProbe(slices);
    if (!mustLeave && !mayLeave) return;
    this.returnJob(job);
    this.giveBack(job.claim, { isHeld: true, ...(mustLeave && { notNeededSinceMs: nowMs }) });
  }

  private endUnanswered(job: InFlightJob): void {
    if (job.isClosed) return;
    const wallMs = this.ports.timers.now();
    for (const slice of this.slicesOf(job)) returnNow(slice, CLAIM_ENDED, wallMs);
    returnUnanswered(job, wallMs, this.ports.random);
    this.settle(job);
  }

  /** Frees the memory of a claim now, and gives it back with the next `check`. */
  private giveBack(claim: Job, why: GivenBack): void {
    this.held.unclaim(claim);
    if (claim.what === 'page') this.held.budget.storedPage(claim.publish.instance);
    this.givenBack.add(claim, why);
  }

  /** Leaves a job of which nothing was sent to the next server that claims it. */
  private returnJob(job: InFlightJob): void {
    this.close(job);
    this.drop(job);
  }

  /** Stores the last results of a job whose devices all have one. */
  private settle(job: InFlightJob): void {
    this.close(job);
    void this.storeResults(job);
  }

  private close(job: InFlightJob): void {
    job.isClosed = true;
    this.progress.remove(job);
    for (const slice of this.slicesOf(job)) slice.leave();
    this.slices.delete(job);
  }

  private onProgress(job: InFlightJob, count: number, after: AfterPart): void {
    if (after === 'stale') {
      // Another server has claimed the job, and sends to the devices that are left.
      job.claimedUntilMs = 0;
      this.decide(job);
      return;
    }
    const stored = job.results.slice(0, count);
    const hasRetries = stored.some(({ what }) => what === 'retry');
    this.reportEnded(job, stored);
    this.held.forgetStored(job, count);
    this.discountIfUntrusted(job);
    this.onRoom(hasRetries);
    if (after === 'cancelled') this.cancel(job.publish.number);
  }

  private async storeResults(job: InFlightJob): Promise<void> {
    const { store, timers, events } = this.ports;
    await job.storing;
    this.progress.storeAlong();
    const after = await this.access.insist(() =>
      store.settle({ job: job.claim, results: job.results, nowMs: timers.now() }),
    );
    if (after !== 'stale') this.reportEnded(job, job.results);
    this.drop(
      job,
      job.results.some(({ what }) => what === 'retry'),
    );
    if (after === 'finished') events.finished(job.publish);
    if (after === 'cancelled') this.cancel(job.publish.number);
  }

  private reportEnded(job: InFlightJob, stored: readonly DeviceResult[]): void {
    const devices = job.endedAfterWaiting(stored);
    if (devices === 0 || job.claim.what === 'page') return;
    this.onEndedAfterWaiting({ instance: job.instance, platform: job.claim.platform, devices });
  }

  private drop(job: InFlightJob, hasRetries = false): void {
    this.held.drop(job);
    if (this.held.isEmpty) this.onEmpty?.();
    this.onRoom(hasRetries);
  }

  /** Stops counting a job that only waits for untrusted devices: hanging ones would keep other jobs out. */
  private discountIfUntrusted(job: InFlightJob): void {
    const hasTrusted = this.slicesOf(job).some(({ isTrusted, isDone }) => isTrusted && !isDone);
    if (!hasTrusted) this.held.discount(job);
  }

  /** Sends nothing more of a cancelled publish. */
  private cancel(publish: number): void {
    const wallMs = this.ports.timers.now();
    for (const job of this.held.all()) {
      if (job.isClosed || job.publish.number !== publish) continue;
      for (const slice of this.slicesOf(job)) returnNow(slice, CANCELLED, wallMs);
      this.decide(job);
    }
  }

  private async untilEmpty(ms: number): Promise<void> {
    if (this.held.isEmpty) return;
    await new Promise<void>((resolve) => {
      const cancel = this.ports.timers.after(ms, resolve);
      this.onEmpty = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Whether waiting devices return to the store, which takes a row for each, instead of holding up their job. */
function shouldReturnDevices(
  job: InFlightJob,
  slices: readonly Slice[],
  areShut: boolean,
): boolean {
  // Devices of retries have rows already.
  if (areShut && job.claim.what === 'retries') return true;
  // With a single route, the devices hold up nothing else.
  return job.hasResults && new Set(slices.map(({ route }) => route)).size > 1;
}

function gatewayOf({ gateways }: DeliveredInstance, platform: Platform): AnyGateway {
  return gateways[platform] ?? noGateways[platform];
}

function nameOfDispatcher(instance: number, platform: Platform): string {
  return `${instance} ${platform}`;
}
