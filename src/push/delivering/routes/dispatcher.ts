import { untrustedLimit } from '../../../runtime/fairness/sender-queue.ts';
import type { Timers } from '../../../runtime/ports.ts';
import type { Outcome } from '../../gateway.ts';
import type { Platform, Recipient } from '../../model/device.ts';
import { type DueGroup, dueGroups } from '../jobs/due-groups.ts';
import type { InFlightJob } from '../jobs/in-flight-job.ts';
import { type DeliveryLimits, IDLE_MS } from '../limits.ts';
import type { CircuitEvent, LastOutcomes, OpenCircuit, PipelineNotices } from '../ports.ts';
import type { SteadyClock } from '../steady-clock.ts';
import { type After, afterOutcome, afterPause, type OthersAccepted } from './after-outcome.ts';
import type { Ticket } from './circuit/circuit-breaker.ts';
import { circuitEventOf, openCircuitOf } from './circuit-events.ts';
import { DevicePauses, type PauseTicket } from './devices/device-pauses.ts';
import { settleDevice } from './devices/device-result.ts';
import { returnLater } from './devices/returning-devices.ts';
import { TrustedDevices } from './devices/trusted-devices.ts';
import { expiredOf } from './lifetime.ts';
import {
  FAULT,
  isOfConnection,
  isOfDeviceAlone,
  isOfGateway,
  waitsForCircuit,
} from './outcome-kinds.ts';
import { type AnyGateway, PreparedPublish } from './prepared-publish.ts';
import { type Route, Slice, type SliceOptions } from './route.ts';
import { RouteTable } from './route-table.ts';

export interface DispatcherOptions {
  readonly instance: number;
  readonly instanceId: string;
  readonly gateway: AnyGateway;
  /** For how long a notification is tried. */
  readonly retryMs: number;
  /** Most sends per second on one route. */
  readonly rate: number;
  readonly limits: DeliveryLimits;
  readonly timers: Timers;
  readonly clock: SteadyClock;
  readonly random: () => number;
  readonly notices: PipelineNotices;
  readonly count: (after: After) => void;
  readonly last: LastOutcomes;
  /** Called when no send of a job is in flight, and its devices may need another decision. */
  readonly onIdle: (job: InFlightJob) => void;
}

/**
 * Platforms whose devices are bound to the credential with which they registered: a browser subscribes with a key. On
 * the others one credential serves all devices, so a refused credential does not depend on the device.
 */
const BOUND_TO_KEY: ReadonlySet<Platform> = new Set(['web']);

const ACCEPTED: After = { what: 'accepted' };
const ACCEPTED_AGAIN: After = { what: 'accepted', endsPause: true };

/** One send, up to its outcome. */
interface Send {
  readonly slice: Slice;
  readonly place: number;
  readonly recipient: Recipient;
  readonly ticket: Ticket;
  readonly pauseTicket: PauseTicket;
  /** Whether it began while the circuit was open. */
  readonly isProbe: boolean;
}

/**
 * Sends to the devices of one platform of one instance. Dispatchers do not wait for each other, and within one, no push
 * service waits for another: each has a route of its own.
 */
export class Dispatcher {
  readonly instance: number;
  readonly platform: Platform;
  readonly pauses: DevicePauses;
  private usedAtMs: number;
  private readonly options: DispatcherOptions;
  private gateway: AnyGateway;
  private retryMs: number;
  private readonly routes: RouteTable;
  /** By the number of the publish and when it is due. */
  private readonly prepared = new Map<string, PreparedPublish>();
  private readonly trusted = new TrustedDevices();
  /** Whether any device was accepted with the current credential. */
  private hasAccepted = false;
  /** Sends without an outcome: all, those to untrusted devices, and of these all but the first of each route. */
  private inFlight = 0;
  private untrustedInFlight = 0;
  private furtherInFlight = 0;
  private isStopped = false;
  private alarm: { readonly atMs: number; readonly cancel: () => void } | undefined;
  private claimedUntilMs = 0;
  private readonly isClaimed = (slice: Slice): boolean =>
    slice.job.claimedUntilMs >= this.claimedUntilMs;

  constructor(options: DispatcherOptions) {
    this.options = options;
    this.gateway = options.gateway;
    this.retryMs = options.retryMs;
    this.instance = options.instance;
    this.platform = options.gateway.platform;
    this.usedAtMs = options.clock.now();
    this.pauses = new DevicePauses(options.random);
    this.routes = new RouteTable({
      rate: options.rate,
      random: options.random,
      routesMax: options.limits.routes,
      isByService: this.platform === 'web',
      distrust: (device) => this.trusted.distrust(device),
    });
  }

  /** Sends in flight. */
  get sending(): number {
    return this.inFlight;
  }

  /** Whether it can be removed without losing what it has learned. */
  isIdle(): boolean {
    const { clock, timers } = this.options;
    const idleMs = Math.min(clock.now() - this.usedAtMs, timers.now() - this.pauses.lastUntilMs);
    return this.inFlight === 0 && this.prepared.size === 0 && idleMs > IDLE_MS;
  }

  /** Whether all circuits stay open for longer than a job should wait in memory, and a probe waits that can close one. */
  isShut(patienceMs: number): boolean {
    const nowMs = this.options.clock.now();
    return (
      this.routes.all.some((route) => route.hasProbe()) &&
      this.routes.all.every(({ circuit }) => circuit.isShut(nowMs, patienceMs))
    );
  }

  openCircuits(): readonly OpenCircuit[] {
    return this.routes.all.flatMap((route) => openCircuitOf(this, route) ?? []);
  }

  /** Adds the devices at some places of a job, and returns them in slices. `start` sends to them. */
  add(job: InFlightJob, places: readonly number[]): readonly Slice[] {
    const nowMs = this.options.clock.now();
    this.usedAtMs = nowMs;
    const slices = dueGroups(job, places, this.retryMs).flatMap((group) =>
      this.addGroup(job, group, nowMs),
    );
    this.returnJammed();
    return slices;
  }

  private addGroup(job: InFlightJob, group: DueGroup, nowMs: number): readonly Slice[] {
    const prepared = this.prepare(job, group);
    const { places } = group;
    const byRoute =
      this.platform === 'web'
        ? Map.groupBy(places, (place) =>
            this.routes.toDevice(this.gateway, job.recipients[place], nowMs),
          )
        : new Map([[this.routes.to('', nowMs), places]]);
    return [...byRoute].flatMap(([route, some]) =>
      this.sliced({ job, prepared, route, places: some, nowMs }),
    );
  }

  /** Sends to all devices that may be sent to now, and continues later when more may be. */
  start(): void {
    for (let slice = this.next(); slice !== undefined; slice = this.next()) {
      void this.sendFrom(slice);
    }
    this.setAlarm();
  }

  /**
   * Uses another gateway from now on, and forgets what was learned about the old one and its credential. `retryMs` holds
   * for publishes that are new here.
   */
  use(gateway: AnyGateway, retryMs: number): void {
    this.retryMs = retryMs;
    if (gateway === this.gateway) return;
    this.gateway = gateway;
    this.trusted.clear();
    this.hasAccepted = false;
    for (const prepared of this.prepared.values()) prepared.sendThrough(gateway);
    for (const { circuit } of this.routes.all) circuit.reset();
    this.start();
  }

  /** To be called each `CHECK_MS`. Returns which circuits have opened and closed. */
  check(): readonly CircuitEvent[] {
    const nowMs = this.options.clock.now();
    const events: CircuitEvent[] = [];
    for (const route of this.routes.all) {
      route.trusted.measure();
      route.untrusted.measure();
      const event = circuitEventOf(this, route, nowMs);
      if (event !== undefined) events.push(event);
    }
    this.returnJammed();
    for (const [number, { slices }] of this.prepared) {
      if (slices === 0) this.prepared.delete(number);
    }
    this.routes.forgetIdle(nowMs);
    // Extended claims let more be sent.
    this.start();
    return events;
  }

  /** Sends nothing more. */
  stop(): void {
    this.isStopped = true;
    this.alarm?.cancel();
    this.alarm = undefined;
  }

  private prepare(job: InFlightJob, { dueAtMs, startMs, triedFromMs }: DueGroup): PreparedPublish {
    const key = `${job.publish.number} ${dueAtMs} ${startMs} ${triedFromMs}`;
    const known = this.prepared.get(key);
    if (known !== undefined) return known;
    const { instanceId } = this.options;
    const { gateway, retryMs } = this;
    const publish = { ...job.publish, dueAtMs };
    const lifetime = { retryMs, startMs, triedFromMs };
    const stored = job.storedPublish;
    const prepared = new PreparedPublish({ publish, stored, instanceId, gateway, ...lifetime });
    this.prepared.set(key, prepared);
    return prepared;
  }

  /** Makes a slice of the trusted devices, and one of the others. */
  private sliced(options: Omit<SliceOptions, 'isTrusted'>): readonly Slice[] {
    const { job, route, nowMs } = options;
    route.usedAtMs = nowMs;
    const trusted: number[] = [];
    const untrusted: number[] = [];
    for (const place of options.places) {
      const recipient = job.recipients[place];
      const isTrusted = recipient !== undefined && this.trusted.has(recipient);
      (isTrusted ? trusted : untrusted).push(place);
    }
    const slices: Slice[] = [];
    if (trusted.length > 0) {
      slices.push(new Slice({ ...options, isTrusted: true, places: trusted }));
      route.circuit.learnOfTrusted();
    }
    if (untrusted.length > 0) {
      slices.push(new Slice({ ...options, isTrusted: false, places: untrusted }));
    }
    return slices;
  }

  /**
   * Returns untrusted devices to the store if too many wait, because they would keep others out of memory. While the
   * circuit is open, whole jobs are released instead.
   */
  private returnJammed(): void {
    const { clock, timers, limits } = this.options;
    const wallMs = timers.now();
    const nowMs = clock.at(wallMs);
    const { untrustedWaitMs } = limits;
    const inFlightMax = this.inFlightMaxOfRoute();
    for (const route of this.routes.all) {
      const { untrusted, circuit } = route;
      if (circuit.fault !== undefined) continue;
      const hasPlace = untrusted.inFlight === 0 ? this.hasFirstPlace() : this.hasUntrustedPlace();
      if (hasPlace && route.hasUntrustedPlace(inFlightMax)) continue;
      if (!untrusted.isJammed(untrustedWaitMs, nowMs)) continue;
      for (const slice of untrusted.slices.newestFirst()) {
        if (!untrusted.isJammed(untrustedWaitMs, nowMs)) break;
        returnLater(slice, { nowMs, wallMs });
        this.options.onIdle(slice.job);
      }
    }
  }

  /** A slice with a device that may be sent to now. */
  private next(): Slice | undefined {
    if (this.isStopped || this.inFlight >= this.gateway.atOnce) return undefined;
    const { timers, clock, limits } = this.options;
    const wallMs = timers.now();
    this.claimedUntilMs = wallMs + limits.sendMs;
    return this.routes.next({
      nowMs: clock.at(wallMs),
      inFlightMax: this.inFlightMaxOfRoute(),
      hasUntrustedPlace: this.hasUntrustedPlace(),
      hasFirstPlace: this.hasFirstPlace(),
      isClaimed: this.isClaimed,
    });
  }

  /**
   * Untrusted devices may not use all places of the dispatcher, however many routes they wait on. Some of theirs are for
   * routes that have none in flight, so that hanging push services do not keep a new one out.
   */
  private hasUntrustedPlace(): boolean {
    const limit = untrustedLimit(this.gateway.atOnce, false);
    const kept = this.platform === 'web' ? Math.min(this.options.limits.routes, limit / 2) : 0;
    return this.hasFirstPlace() && this.furtherInFlight < limit - kept;
  }

  private hasFirstPlace(): boolean {
    return this.untrustedInFlight < untrustedLimit(this.gateway.atOnce, false);
  }

  /**
   * Most sends in flight on one route. A push service may use the places that are free: one alone gets half of them,
   * and however many services hang, a place is left for another.
   */
  private inFlightMaxOfRoute(): number {
    const { atOnce } = this.gateway;
    return this.platform === 'web' ? Math.max(1, atOnce - this.inFlight) : atOnce;
  }

  /** Sends to one device after the other. Many of these loops run at the same time. */
  private async sendFrom(first: Slice): Promise<void> {
    for (let slice: Slice | undefined = first; slice !== undefined; slice = this.next()) {
      const { route, job, prepared, isTrusted } = slice;
      const wallMs = this.options.timers.now();
      const nowMs = this.options.clock.at(wallMs);
      const isProbe = route.circuit.fault !== undefined;
      // At random, because the first outcomes decide whether the circuit opens: otherwise one could get the first turns
      // by registering many devices early.
      const place = slice.take(nowMs, this.options.random());
      const recipient = job.recipients[place];
      if (recipient === undefined || this.isOver(slice, recipient, wallMs)) continue;
      if (this.isPaused(slice, recipient, wallMs)) continue;

      const ticket = route.begin(isTrusted, nowMs);
      const pauseTicket = this.pauses.begin(recipient, wallMs);
      this.countInFlight(slice, 1);
      job.movedAtMs = nowMs;
      let outcome: Outcome;
      try {
        // The gateway shares its connections among trusted and untrusted devices as this dispatcher shares its places.
        outcome = await prepared.deliver(
          recipient.isTrusted === isTrusted ? recipient : { ...recipient, isTrusted },
        );
      } catch (error) {
        this.options.notices.fault(error);
        outcome = FAULT;
      }
      this.countInFlight(slice, -1);
      slice.queue.outcomes++;
      this.learn({ slice, place, recipient, ticket, pauseTicket, isProbe }, outcome);
    }
    this.setAlarm();
  }

  private countInFlight(slice: Slice, change: 1 | -1): void {
    const { job, queue, isTrusted } = slice;
    const others = change === 1 ? queue.inFlight : queue.inFlight - 1;
    this.inFlight += change;
    job.inFlight += change;
    slice.inFlight += change;
    queue.inFlight += change;
    if (isTrusted) return;
    this.untrustedInFlight += change;
    if (others > 0) this.furtherInFlight += change;
  }

  /** Settles a device that need not be sent to any more, and returns whether it did. */
  private isOver({ job, prepared }: Slice, recipient: Recipient, wallMs: number): boolean {
    const attempts = job.attemptsOf(recipient);
    const { lifetime } = prepared;
    const endedFor = job.endedFor(recipient);
    if (endedFor !== undefined) {
      this.settle(job, recipient, attempts, { what: 'expired', reason: endedFor, words: '' });
      return true;
    }
    if (wallMs >= (attempts === 0 ? lifetime.firstTryUntilMs : lifetime.endsAtMs)) {
      this.settle(job, recipient, attempts, expiredOf(lifetime));
      return true;
    }
    if (prepared.refusal === undefined) return false;
    this.settle(job, recipient, attempts, { what: 'failed', ...prepared.refusal });
    return true;
  }

  /** Returns a device to the store that is in a pause, and returns whether it is. */
  private isPaused({ job, lifetime, route }: Slice, recipient: Recipient, wallMs: number): boolean {
    const pause = this.pauses.of(recipient, wallMs);
    if (pause === undefined) return false;
    const attempts = job.attemptsOf(recipient);
    const wasAccepted = this.trusted.wasAccepted(recipient);
    const others = this.othersAccepted(route, recipient.number, this.options.clock.at(wallMs));
    const after = afterPause(pause, { attempts, wasAccepted, lifetime, others, nowMs: wallMs });
    // A device that waits is counted with its attempt.
    if (after.what !== 'retry') this.options.count(after);
    settleDevice(job, recipient, attempts, after);
    if (job.inFlight === 0) this.options.onIdle(job);
    return true;
  }

  private learn(send: Send, outcome: Outcome): void {
    const { slice, recipient, ticket, pauseTicket } = send;
    const { route, job, prepared } = slice;
    const wallMs = this.options.timers.now();
    const nowMs = this.options.clock.at(wallMs);
    job.movedAtMs = nowMs;
    const isTrusted = this.trusted.has(recipient);
    const isBelieved = isTrusted || route.circuit.believesUntrusted();
    if (isBelieved && isOfGateway(outcome)) {
      const { reason, words = '' } = outcome;
      this.options.last.refusal = { atMs: wallMs, reason, words };
    }
    const change = route.learn(ticket, { device: recipient.number, isTrusted }, outcome, nowMs);
    if (change === 'opened') route.openedAtMs = wallMs;
    if (isBelieved && prepared.learn(outcome) && prepared.refusal !== undefined) {
      const { reason, words } = prepared.refusal;
      this.options.notices.refused(prepared.publish, this.platform, reason, words);
    }
    if (outcome.result === 'accepted') {
      this.options.last.acceptedAtMs = wallMs;
      route.acceptedAtMs = wallMs;
      this.hasAccepted = true;
      this.trusted.add(recipient);
      this.routes.learnAccepted(this.gateway, recipient);
      const endsPause = this.pauses.accepted(recipient, pauseTicket, wallMs);
      if (!job.isClosed) this.settle(job, recipient, 0, endsPause ? ACCEPTED_AGAIN : ACCEPTED);
    } else {
      this.pauses.ended(recipient, pauseTicket, wallMs);
      if (!job.isClosed) this.retryOrSettle(send, outcome, isTrusted);
    }
    if (change === 'closed') this.start();
  }

  /** Decides what follows for a device that was not accepted. */
  private retryOrSettle(
    { slice, place, recipient, isProbe, pauseTicket: ticket }: Send,
    outcome: Exclude<Outcome, { readonly result: 'accepted' }>,
    isTrusted: boolean,
  ): void {
    const { route, job } = slice;
    const wallMs = this.options.timers.now();
    const nowMs = this.options.clock.at(wallMs);
    const attempts = job.attemptsOf(recipient) + 1;
    const others = this.othersAccepted(route, recipient.number, nowMs);
    // While the circuit is open, a device keeps waiting with the rest of its page and needs no row of its own. An
    // untrusted device that was a probe makes room for the next one.
    const mayWait = isTrusted || !isProbe || isOfConnection(outcome);
    const mustWait = mayWait && waitsForCircuit(outcome, route);
    const last = this.pauses.last(recipient, wallMs);
    const pause =
      !mustWait && isOfDeviceAlone(outcome, route, { others, last })
        ? this.pauses.failed(recipient, {
            ticket,
            wallMs,
            askedMs: outcome.afterMs,
            reason: outcome.reason,
            acceptedAtMs: route.acceptedAtMs,
          })
        : undefined;
    const after = afterOutcome(outcome, {
      attempts,
      nowMs: wallMs,
      lifetime: slice.lifetime,
      seenAtMs: recipient.seenAtMs,
      wasAccepted: this.trusted.wasAccepted(recipient),
      isBoundToKey: BOUND_TO_KEY.has(this.platform),
      others,
      lastPause: last,
      pause,
      random: this.options.random,
    });
    if (after.what === 'retry' && mustWait) {
      slice.putBack(place, nowMs);
      if (job.inFlight === 0) this.options.onIdle(job);
    } else {
      this.settle(job, recipient, attempts, after);
    }
  }

  private othersAccepted(route: Route, device: number, nowMs: number): OthersAccepted {
    if (route.circuit.fault !== undefined) return 'none';
    if (route.circuit.areOthersWell(device, nowMs)) return 'here';
    return this.hasAccepted ? 'somewhere' : 'none';
  }

  private settle(job: InFlightJob, recipient: Recipient, attempts: number, after: After): void {
    this.options.count(after);
    settleDevice(job, recipient, attempts, after);
    if (job.inFlight === 0) this.options.onIdle(job);
  }

  /** Continues when a circuit lets a probe through, or a rate allows more. */
  private setAlarm(): void {
    if (this.isStopped || this.inFlight >= this.gateway.atOnce) return;
    const { timers, clock } = this.options;
    const nowMs = clock.now();
    const atMs = nowMs + this.routes.waitMs(nowMs);
    if (!Number.isFinite(atMs)) return;
    if (this.alarm !== undefined && this.alarm.atMs <= atMs) return;
    this.alarm?.cancel();
    const cancel = timers.after(atMs - nowMs, () => {
      this.alarm = undefined;
      this.start();
    });
    this.alarm = { atMs, cancel };
  }
}
