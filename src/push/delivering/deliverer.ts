import type { AfterPart, Job, PublishUnderWay } from '../model/delivery.ts';
import { type Platform, platforms, type Recipient } from '../model/device.ts';
import { expireWaiting, returnLater, returnNow, returnUnanswered } from './giving-back.ts';
import { HeldWorks } from './held-works.ts';
import { countDevices } from './holdings.ts';
import { Lane, type OutcomeCounts } from './lane.ts';
import { type DeliveryLimits, IN_VAIN_MS, PARK_MS, STUCK_MS } from './limits.ts';
import { noGateways } from './no-gateway.ts';
import type { DeliveredInstance, Pause, PipelinePorts } from './ports.ts';
import type { AnyGateway } from './prepared.ts';
import { Progress } from './progress.ts';
import { defaultRates } from './rates.ts';
import type { StoreAccess } from './store-access.ts';
import { readStoredPublish, type StoredPublish } from './stored-publish.ts';
import { Work } from './work.ts';

/** Reasons of devices that come back without having been sent to. */
const CLAIM_ENDED = 'claim-ended';
const CANCELLED = 'cancelled';

/** How often the devices of a claimed job are asked for. */
const READ_TRIES = 3;

/** A page that was planned, and whose devices are at hand. */
export interface PlannedPage {
  readonly page: number;
  readonly publish: PublishUnderWay;
  readonly recipients: readonly Recipient[];
  readonly claimedUntilMs: number;
  readonly stored: StoredPublish;
}

/** Where a page can go that is planned now. */
export type PlaceForPage =
  | 'here'
  /** Somebody should claim it as soon as there is room. */
  | 'store'
  /** Its gateways cannot be reached now. */
  | 'store-later'
  /** So much waits already that planning should. */
  | 'nowhere';

/** What a deliverer tells of itself. */
export interface DelivererHears {
  /** There may be room again; and some of what was kept is to be tried again. */
  room(hasRetries: boolean): void;
  /** A way is used again. */
  resumed(pause: Pause): void;
}

/** Delivers the jobs of all instances, each through the lanes that its devices need, and keeps what became of them. */
export class Deliverer {
  readonly held: HeldWorks;
  readonly counts: Readonly<Record<Platform, OutcomeCounts>> = {
    apns: noOutcomes(),
    fcm: noOutcomes(),
    web: noOutcomes(),
  };
  private readonly ports: PipelinePorts;
  private readonly limits: DeliveryLimits;
  private readonly access: StoreAccess;
  private readonly hears: DelivererHears;
  private readonly lanes = new Map<string, Lane>();
  /** Jobs that were claimed in vain. */
  private away: Job[] = [];
  /** Until when nothing is claimed of an instance because of those. */
  private readonly inVainUntilMs = new Map<number, number>();
  private readonly progress: Progress;
  private isStopping = false;
  private onEmpty: (() => void) | undefined;

  constructor(
    ports: PipelinePorts,
    limits: DeliveryLimits,
    access: StoreAccess,
    hears: DelivererHears,
  ) {
    this.ports = ports;
    this.limits = limits;
    this.access = access;
    this.hears = hears;
    this.held = new HeldWorks(limits);
    this.progress = new Progress(ports, access, (work, count, after) =>
      this.keptProgress(work, count, after),
    );
  }

  get sending(): number {
    let sending = 0;
    for (const lane of this.lanes.values()) sending += lane.sending;
    return sending;
  }

  pauses(): readonly Pause[] {
    return [...this.lanes.values()].flatMap((lane) => lane.pauses());
  }

  /** Instances of which nothing more is of use here now. */
  except(): readonly number[] {
    const nowMs = this.ports.timers.now();
    this.forgetInVain(nowMs);
    return [...new Set([...this.held.room.full(), ...this.inVainUntilMs.keys()])];
  }

  /** Where a page goes that has devices of these platforms: one that takes it is enough, since no other holds it up. */
  placeFor(instance: number, some: Iterable<Platform>): PlaceForPage {
    const { room } = this.held;
    const open = [...some].filter((platform) => !this.isShut(instance, platform));
    if (open.some((platform) => room.hasRoom(instance, platform))) return 'here';
    if (!room.mayLeaveAhead(instance)) return 'nowhere';
    return open.length > 0 ? 'store' : 'store-later';
  }

  /** Delivers a page for which room is held already; it is no longer. */
  deliverPlanned({ page, publish, recipients, claimedUntilMs, stored }: PlannedPage): void {
    const devices = recipients.map(({ number }) => number);
    const job: Job = { what: 'page', page, publish, devices, claimedUntilMs };
    this.held.claim(job);
    this.begin(job, recipients, () => stored);
  }

  /** Delivers a job that was claimed. Never throws. */
  async deliverClaimed(claimed: Job): Promise<void> {
    const { publish } = claimed;
    const { instance } = publish;
    if (claimed.what === 'page') this.held.room.cameBack(instance);
    const job = this.held.claim(claimed);
    if (job === undefined) return;
    const { devices } = job;
    const { audience } = this.ports;
    // Nothing else is claimed meanwhile, so this must not take for ever.
    const recipients = await this.access.insist(
      () => audience.recipients(instance, devices),
      READ_TRIES,
    );
    if (recipients !== undefined && this.isOfUse(instance, recipients)) {
      this.begin(job, recipients, () => readStoredPublish(publish));
    } else {
      this.sendAway(job);
    }
  }

  /** To be called about once a second. */
  look(passedMs: number): void {
    this.checkGateways();
    const nowMs = this.ports.timers.now();
    for (const [name, lane] of this.lanes) {
      lane.look(passedMs);
      if (lane.isIdle(nowMs)) this.lanes.delete(name);
    }
    this.forgetInVain(nowMs);
    for (const work of this.held.all()) {
      work.keepUpWith(nowMs);
      this.consider(work);
      if (work.inFlight > 0 && nowMs - work.movedAtMs > STUCK_MS) {
        this.ports.notices.fault(new Error('a gateway gives no outcome'));
        this.endUnanswered(work);
      }
    }
    void this.giveBackAway(nowMs);
  }

  /** Uses gateways that were replaced. */
  checkGateways(): void {
    for (const lane of this.lanes.values()) {
      const instance = this.ports.instances.byNumber(lane.instance);
      if (instance !== undefined) lane.use(gatewayOf(instance, lane.platform));
    }
  }

  /**
   * Sends nothing more, waits for what is under way as long as `stopMs` says, and keeps what became of it. What was
   * not begun is left in the store.
   */
  async stop(): Promise<void> {
    this.isStopping = true;
    for (const lane of this.lanes.values()) lane.stop();
    for (const work of this.held.all()) this.consider(work);
    // Whoever stops the server may not wait for the gateways.
    this.progress.keepAll();
    await this.untilEmpty(this.limits.stopMs);
    for (const work of this.held.all()) this.endUnanswered(work);
    await this.untilEmpty(this.limits.storeStopMs);
  }

  private begin(
    job: Job,
    recipients: readonly Recipient[],
    readStored: () => StoredPublish | undefined,
  ): void {
    const { publish } = job;
    const { unkept } = this.progress;
    const work = new Work(job, recipients, { nowMs: this.ports.timers.now(), unkept });
    this.held.add(work);
    const instance = this.ports.instances.byNumber(publish.instance);
    if (instance === undefined || this.isStopping) {
      // Another server knows it, or this one will when the claim has ended.
      this.forget(work);
      return;
    }
    const stored = once(readStored);
    const places: Record<Platform, number[]> = { apns: [], fcm: [], web: [] };
    for (const [place, { platform }] of recipients.entries()) places[platform].push(place);
    const lanes: Lane[] = [];
    for (const platform of platforms) {
      const some = places[platform];
      if (some.length === 0) continue;
      const lane = this.lane(publish.instance, instance, platform);
      lane.add(work, some, stored);
      lanes.push(lane);
    }
    for (const lane of lanes) lane.start();
    this.held.discount(work);
    this.consider(work);
  }

  private lane(number: number, instance: DeliveredInstance, platform: Platform): Lane {
    const name = nameOfLane(number, platform);
    const gateway = gatewayOf(instance, platform);
    const known = this.lanes.get(name);
    if (known !== undefined) {
      known.use(gateway);
      return known;
    }
    const { timers, random, notices, rates = defaultRates } = this.ports;
    const lane = new Lane({
      instance: number,
      instanceId: instance.id,
      gateway,
      rate: rates[platform],
      limits: this.limits,
      timers,
      random,
      notices,
      counts: this.counts[platform],
      idle: this.consider,
      resumed: this.hears.resumed,
    });
    this.lanes.set(name, lane);
    return lane;
  }

  private isShut(instance: number, platform: Platform): boolean {
    const lane = this.lanes.get(nameOfLane(instance, platform));
    return lane?.isShut(this.ports.timers.now()) ?? false;
  }

  /** Whether one platform at least has a use for what was claimed. */
  private isOfUse(instance: number, recipients: readonly Recipient[]): boolean {
    const devices = countDevices(recipients);
    const needed = platforms.filter((platform) => devices[platform] > 0);
    return (
      needed.length === 0 ||
      needed.some(
        (platform) =>
          !this.isShut(instance, platform) && !this.held.room.isOverfull(instance, platform),
      )
    );
  }

  /** Decides what follows for a work of which nothing is under way. */
  private readonly consider = (work: Work): void => {
    if (work.isClosed || work.inFlight > 0) return;
    if (!work.isDone) this.giveUpWaiting(work);
    if (!work.isClosed && work.isDone) this.finish(work);
  };

  private giveUpWaiting(work: Work): void {
    const nowMs = this.ports.timers.now();
    const { isBegun } = work;
    if (this.isStopping || nowMs >= work.claimedUntilMs) {
      if (isBegun) returnNow(work, CLAIM_ENDED, nowMs);
      else this.forget(work);
      return;
    }
    let areShut = true;
    for (const part of work.parts) {
      if (!part.hasNext) continue;
      if (!part.holdsUp(nowMs)) return;
      if (!part.isShut(nowMs)) areShut = false;
      else expireWaiting(work, part, nowMs);
    }
    if (work.isDone) return;
    if (this.shouldReturn(work, areShut)) {
      for (const part of work.parts) returnLater(work, part, nowMs);
      return;
    }
    if (!areShut || !work.isKept) return;
    // What was read from the store grows old: tokens may have changed, the publish may be cancelled.
    const isOld = nowMs - work.takenAtMs > PARK_MS;
    if (isOld || this.held.room.isCrowded(work.instance, work.devices)) {
      this.forget(work);
      this.sendAway(work.job);
    }
  }

  /** Whether the devices that wait come back on their own, which takes a row for each, instead of being waited for. */
  private shouldReturn(work: Work, areShut: boolean): boolean {
    // They have rows already.
    if (areShut && work.job.what === 'retries') return true;
    // What goes another way is not held up. Where all go the same way, nothing is gained.
    return work.isBegun && new Set(work.parts.map(({ way }) => way)).size > 1;
  }

  private endUnanswered(work: Work): void {
    if (work.isClosed) return;
    const nowMs = this.ports.timers.now();
    returnNow(work, CLAIM_ENDED, nowMs);
    returnUnanswered(work, nowMs, this.ports.random);
    this.finish(work);
  }

  /** Leaves a work of which nothing was sent to whoever claims it next. */
  private forget(work: Work): void {
    this.close(work);
    this.drop(work);
  }

  /** Forgets what is over, or lies so far ahead as only a clock leaves it that was set back. */
  private forgetInVain(nowMs: number): void {
    for (const [instance, untilMs] of this.inVainUntilMs) {
      if (untilMs <= nowMs || untilMs > nowMs + IN_VAIN_MS) this.inVainUntilMs.delete(instance);
    }
  }

  /** It can be claimed again after a while. Until then it stays in the store, where it takes no memory. */
  private sendAway(job: Job): void {
    const { instance } = job.publish;
    this.held.unclaim(job);
    this.inVainUntilMs.set(instance, this.ports.timers.now() + IN_VAIN_MS);
    if (job.what === 'page') this.held.room.leftAhead(instance);
    this.away.push(job);
  }

  private async giveBackAway(nowMs: number): Promise<void> {
    if (this.away.length === 0) return;
    const jobs = this.away;
    this.away = [];
    const untilMs = nowMs + this.limits.awayMs;
    try {
      await this.access.ask(() => this.ports.store.extend({ plans: [], jobs }, untilMs));
    } catch {
      // It was told. Their claims end by themselves, only later.
    }
  }

  private finish(work: Work): void {
    this.close(work);
    void this.keep(work);
  }

  private close(work: Work): void {
    work.isClosed = true;
    this.progress.leave(work);
    for (const part of work.parts) part.leave();
  }

  /** Some devices of a work that goes on need not be sent to again, whatever happens to this server. */
  private keptProgress(work: Work, count: number, after: AfterPart): void {
    if (after === 'stale') {
      // Whoever has claimed it since sends to the devices that are left.
      work.claimedUntilMs = 0;
      this.consider(work);
      return;
    }
    const hasRetries = work.results.slice(0, count).some(({ what }) => what === 'retry');
    this.held.forgetKept(work, count);
    this.held.discount(work);
    this.hears.room(hasRetries);
    if (after === 'cancelled') this.cancel(work.job.publish.number);
  }

  private async keep(work: Work): Promise<void> {
    const { store, timers, events } = this.ports;
    await work.keeping;
    this.progress.keepAlong();
    const after = await this.access.insist(() =>
      store.settle({ job: work.job, results: work.results, nowMs: timers.now() }),
    );
    this.drop(
      work,
      work.results.some(({ what }) => what === 'retry'),
    );
    const { publish } = work.job;
    if (after === 'finished') events.finished(publish);
    if (after === 'cancelled') this.cancel(publish.number);
  }

  private drop(work: Work, hasRetries = false): void {
    this.held.drop(work);
    if (this.held.isEmpty) this.onEmpty?.();
    this.hears.room(hasRetries);
  }

  /** What has not gone out of a publish does not: no device of a cancelled one is tried again. */
  private cancel(publish: number): void {
    const nowMs = this.ports.timers.now();
    for (const work of this.held.all()) {
      if (work.isClosed || work.job.publish.number !== publish) continue;
      returnNow(work, CANCELLED, nowMs);
      this.consider(work);
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

function gatewayOf({ gateways }: DeliveredInstance, platform: Platform): AnyGateway {
  return gateways[platform] ?? noGateways[platform];
}

function nameOfLane(instance: number, platform: Platform): string {
  return `${instance} ${platform}`;
}

function noOutcomes(): OutcomeCounts {
  return { accepted: 0, retry: 0, failed: 0, expired: 0, pruned: 0 };
}

function once<Value>(read: () => Value): () => Value {
  let known: { readonly value: Value } | undefined;
  return () => {
    known ??= { value: read() };
    return known.value;
  };
}
