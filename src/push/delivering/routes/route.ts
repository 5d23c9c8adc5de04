import { untrustedLimit } from '../../../runtime/fairness/sender-queue.ts';
import { perSecond, type Rate, TokenBucket } from '../../../runtime/rates/token-bucket.ts';
import type { Outcome } from '../../gateway.ts';
import type { InFlightJob } from '../jobs/in-flight-job.ts';
import type { OpenCircuit } from '../ports.ts';
import {
  CircuitBreaker,
  type CircuitChange,
  type SentDevice,
  type Ticket,
} from './circuit/circuit-breaker.ts';
import { DeviceQueue } from './devices/device-queue.ts';
import type { Lifetime } from './lifetime.ts';
import type { PreparedPublish } from './prepared-publish.ts';

/** When the rate is used up, sends wait at least this long and then go together. */
const RATE_WAIT_MS_MIN = 5;

export interface RouteOptions {
  /** The push service of a route that is for one of several. */
  readonly origin: string | undefined;
  /** Whether several push services share the route. */
  readonly isShared: boolean;
  /** Most sends per second. */
  readonly rate: number;
  readonly nowMs: number;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** Called for each trusted device whose failure an acceptance of another device contradicts. */
  readonly distrust: (device: number) => void;
}

/** The limits of a dispatcher when it asks for the next device. */
export interface SendLimits {
  readonly nowMs: number;
  /** Most sends in flight on one route. */
  readonly inFlightMax: number;
  /** Whether the dispatcher has a place for another untrusted device, and for one on a route that has none in flight. */
  readonly hasUntrustedPlace: boolean;
  readonly hasFirstPlace: boolean;
  readonly isClaimed: (slice: Slice) => boolean;
}

/**
 * The route to all devices of one credential at one gateway: two queues in which publishes take turns, a rate, and a
 * circuit breaker. Trusted devices have a queue of their own, because anybody may register others whose gateway hangs
 * or refuses them.
 *
 * Times are those of the steady clock, unless they say otherwise.
 *
 * On a shared route the circuit never opens, and an acceptance at one push service says nothing about devices of
 * another: a service that never answers must not delay the others. Each device is retried on its own there, with
 * growing pauses.
 */
export class Route {
  readonly origin: string | undefined;
  readonly circuit: CircuitBreaker;
  readonly trusted: DeviceQueue<Slice>;
  readonly untrusted: DeviceQueue<Slice>;
  usedAtMs: number;
  /** When the circuit opened last, and when a device was accepted last, by the system's clock; 0: never. */
  openedAtMs = 0;
  acceptedAtMs = 0;
  /** The open circuit that was reported last, until its end is, too. */
  reported: OpenCircuit | undefined;
  private readonly isShared: boolean;
  private readonly rate: Rate;
  private readonly bucket: TokenBucket;
  private readonly random: () => number;
  private isTurnOfUntrusted = false;

  constructor({ origin, isShared, rate, nowMs, random, distrust }: RouteOptions) {
    this.origin = origin;
    this.isShared = isShared;
    this.random = random;
    this.circuit = new CircuitBreaker(distrust);
    this.rate = perSecond(Math.max(1, rate));
    this.bucket = new TokenBucket(this.rate, nowMs);
    this.usedAtMs = nowMs;
    this.trusted = new DeviceQueue(random);
    this.untrusted = new DeviceQueue(random);
  }

  get inFlight(): number {
    return this.trusted.inFlight + this.untrusted.inFlight;
  }

  get isEmpty(): boolean {
    return this.trusted.isEmpty && this.untrusted.isEmpty;
  }

  /** A slice with a device that may be sent to now. The two queues take turns. */
  next(limits: SendLimits): Slice | undefined {
    if (this.inFlight >= limits.inFlightMax || this.rateWaitMs(limits.nowMs) > 0) return undefined;
    this.isTurnOfUntrusted = !this.isTurnOfUntrusted;
    return this.isTurnOfUntrusted
      ? (this.nextUntrusted(limits) ?? this.nextTrusted(limits))
      : (this.nextTrusted(limits) ?? this.nextUntrusted(limits));
  }

  /** Time until a waiting device may be sent to; 0: only a place is missing. */
  waitMs(nowMs: number): number {
    const waits: number[] = [];
    if (!this.trusted.isEmpty) waits.push(this.trustedWaitMs(nowMs));
    if (!this.untrusted.isEmpty) waits.push(this.untrustedWaitMs(nowMs));
    // The rate matters only to devices that the circuit lets pass.
    return Math.min(...waits) || this.rateWaitMs(nowMs);
  }

  /** Whether another untrusted device may be sent to, of `inFlightMax` sends in total. */
  hasUntrustedPlace(inFlightMax: number): boolean {
    return this.untrusted.inFlight < untrustedLimit(inFlightMax, !this.trusted.isEmpty);
  }

  /** Counts a send. */
  begin(isTrusted: boolean, nowMs: number): Ticket {
    this.bucket.charge(1);
    this.usedAtMs = nowMs;
    return this.circuit.begin(isTrusted, nowMs);
  }

  /** Records an outcome. Returns what it changed about the circuit. */
  learn(ticket: Ticket, sent: SentDevice, outcome: Outcome, nowMs: number): CircuitChange {
    return this.isShared ? 'unchanged' : this.circuit.learn(ticket, sent, outcome, nowMs);
  }

  /**
   * Whether an untried device waits here, outside of some slices, whose outcome can close the circuit. If not, other
   * devices must be let into memory, because all that wait may be hostile.
   */
  hasProbe(without: readonly Slice[] = []): boolean {
    const some = without.filter(({ route, hasNext }) => route === this && hasNext);
    const untried = some.reduce(
      (sum, { isTrusted, untried }) => sum + (isTrusted ? untried : 0),
      0,
    );
    if (this.trusted.untried > untried) return true;
    const untrusted = some.filter(({ isTrusted }) => !isTrusted).length;
    return this.untrusted.slices.size > untrusted && this.circuit.believesUntrusted();
  }

  private nextTrusted({ nowMs, isClaimed }: SendLimits): Slice | undefined {
    const { trusted, circuit } = this;
    if (trusted.isEmpty) return undefined;
    if (circuit.fault === undefined) return trusted.slices.next(isClaimed);
    if (trusted.untried > 0 && circuit.untriedWaitMs(nowMs) === 0) {
      const mayProbe = (slice: Slice) => slice.hasUntried && isClaimed(slice);
      const untried = trusted.slices.next(mayProbe, this.random());
      if (untried !== undefined) return untried;
    }
    return circuit.waitMs(nowMs) > 0 ? undefined : trusted.slices.next(isClaimed, this.random());
  }

  private trustedWaitMs(nowMs: number): number {
    const { trusted, circuit } = this;
    return trusted.untried > 0 ? circuit.untriedWaitMs(nowMs) : circuit.waitMs(nowMs);
  }

  private nextUntrusted(limits: SendLimits): Slice | undefined {
    if (this.untrusted.isEmpty) return undefined;
    if (!(this.untrusted.inFlight === 0 ? limits.hasFirstPlace : limits.hasUntrustedPlace)) {
      return undefined;
    }
    if (!this.hasUntrustedPlace(limits.inFlightMax)) return undefined;
    if (this.untrustedWaitMs(limits.nowMs) > 0) return undefined;
    return this.untrusted.slices.next(limits.isClaimed);
  }

  private untrustedWaitMs(nowMs: number): number {
    return this.circuit.untrustedWaitMs(nowMs, this.trusted.untried > 0);
  }

  private rateWaitMs(nowMs: number): number {
    const tokens = this.bucket.left(this.rate, nowMs);
    if (tokens >= 1) return 0;
    return Math.max(RATE_WAIT_MS_MIN, Math.ceil(((1 - tokens) * 1000) / this.rate.perSecond));
  }
}

export interface SliceOptions {
  readonly job: InFlightJob;
  readonly route: Route;
  readonly prepared: PreparedPublish;
  /** Whether its devices are trusted. */
  readonly isTrusted: boolean;
  /** Places among the recipients of the job. */
  readonly places: readonly number[];
  readonly nowMs: number;
}

/** The devices of one job on one route: either the trusted ones, or the untrusted ones. */
export class Slice {
  readonly job: InFlightJob;
  readonly route: Route;
  readonly prepared: PreparedPublish;
  readonly isTrusted: boolean;
  /** Sends in flight. */
  inFlight = 0;
  /** Places of devices. Those before `at` have been sent to; those from `triedFrom` on have failed since the circuit opened. */
  private readonly places: number[];
  private readonly triedFrom: number;
  private at = 0;
  private waitingSinceMs: number;
  private isQueued = false;

  constructor({ job, route, prepared, isTrusted, places, nowMs }: SliceOptions) {
    this.job = job;
    this.route = route;
    this.prepared = prepared;
    this.isTrusted = isTrusted;
    const { circuit } = route;
    const wasTried = (place: number) => circuit.wasTried(job.recipients[place]?.number ?? 0);
    const tried = circuit.fault === undefined ? [] : places.filter(wasTried);
    this.places =
      tried.length === 0 ? [...places] : [...places.filter((place) => !wasTried(place)), ...tried];
    this.triedFrom = places.length - tried.length;
    this.waitingSinceMs = nowMs;
    prepared.slices++;
    this.queue.add(places.length, nowMs);
    this.queue.untried += this.triedFrom;
    this.enqueue();
  }

  /** Publishes take turns. */
  get owner(): object {
    return this.prepared;
  }

  get queue(): DeviceQueue<Slice> {
    return this.isTrusted ? this.route.trusted : this.route.untrusted;
  }

  /** Whether no device waits or is being sent to. */
  get isDone(): boolean {
    return !this.hasNext && this.inFlight === 0;
  }

  /** Whether a device waits. */
  get hasNext(): boolean {
    return this.at < this.places.length;
  }

  /** Whether a device waits that was not sent to yet. */
  get hasUntried(): boolean {
    return this.at < this.triedFrom;
  }

  /** How many devices wait that were not sent to yet. */
  get untried(): number {
    return Math.max(0, this.triedFrom - this.at);
  }

  get lifetime(): Lifetime {
    return this.prepared.lifetime;
  }

  /**
   * Takes the place of the next device; there must be one. `random`, from 0 to 1 excluded, picks one of the untried
   * devices, or else one of all that wait.
   */
  take(nowMs: number, random = 0): number {
    const { places, at } = this;
    const end = this.hasUntried ? this.triedFrom : places.length;
    if (this.hasUntried) this.queue.untried--;
    const chosen = at + Math.floor(random * (end - at));
    const place = places[chosen] ?? 0;
    places[chosen] = places[at] ?? 0;
    this.at++;
    this.queue.remove(1);
    this.waitingSinceMs = nowMs;
    if (!this.hasNext) this.dequeue();
    return place;
  }

  /** Lets a device wait again, after all others, so that one device that keeps failing does not block them. */
  putBack(place: number, nowMs: number): void {
    this.places.push(place);
    this.queue.add(1, nowMs);
    this.enqueue();
  }

  /** Whether the rest of the job should not wait for these devices. */
  holdsUp(nowMs: number, patienceMs: number): boolean {
    return this.isShut(nowMs, patienceMs) || this.queue.isSlow(nowMs, this.waitingSinceMs);
  }

  /** Whether the circuit stays open for longer than a job should wait in memory. */
  isShut(nowMs: number, patienceMs: number): boolean {
    return this.route.circuit.isShut(nowMs, patienceMs);
  }

  /** After how long a device should come back that waits no longer in memory. */
  returnAfterMs(nowMs: number): number {
    return this.queue.returnAfterMs(nowMs, this.route.circuit);
  }

  /** Takes the places of all devices that wait. */
  takeAll(): readonly number[] {
    const waiting = this.places.slice(this.at);
    this.queue.untried -= this.untried;
    this.at = this.places.length;
    this.queue.remove(waiting.length);
    this.dequeue();
    return waiting;
  }

  /** Removes the slice from the route. */
  leave(): void {
    this.takeAll();
    this.prepared.slices--;
  }

  private enqueue(): void {
    if (this.isQueued || !this.hasNext) return;
    this.isQueued = true;
    this.queue.slices.add(this);
  }

  private dequeue(): void {
    if (!this.isQueued) return;
    this.isQueued = false;
    this.queue.slices.remove(this);
  }
}

/** Whether devices of the slices of one job are the only ones whose outcome can close a circuit. */
export function hasOnlyProbe(slices: readonly Slice[]): boolean {
  const routes = new Set(slices.filter(({ hasNext }) => hasNext).map(({ route }) => route));
  return [...routes].some((route) => route.hasProbe() && !route.hasProbe(slices));
}
