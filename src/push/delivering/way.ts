import { untrustedLimit } from '../../runtime/sender-queue.ts';
import type { Outcome } from '../gateway.ts';
import { Breaker, type Sent, type Ticket } from './breaker.ts';
import { Bucket, type Rate } from './bucket.ts';
import { Line } from './line.ts';
import type { Prepared } from './prepared.ts';
import type { PartOfWork, Work } from './work.ts';

export interface WayOptions {
  /** Of a push service, where it is one of several. */
  readonly origin: string | undefined;
  /** Whether it leads to several push services. */
  readonly isShared: boolean;
  readonly rate: Rate;
  readonly nowMs: number;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** Hears of each witness whose failure an acceptance of another device contradicts. */
  readonly doubt: (device: number) => void;
}

/** The limits that a lane sets when it asks for the next device. */
export interface MayBeSent {
  readonly nowMs: number;
  /** Most sends in flight on one way. */
  readonly most: number;
  /** Whether the lane has a place for one more newcomer. */
  readonly newcomers: boolean;
  readonly isLeased: (part: Part) => boolean;
}

/**
 * The route to all devices of one credential at one gateway: two queues in which publishes take turns, a rate, and a
 * circuit breaker. Devices that were accepted before have a queue of their own, because anybody may register others
 * whose gateway hangs or refuses them.
 *
 * On a way that several push services share, the circuit never opens, and what one service accepts says nothing about
 * devices of another: endpoints at a service that never answers must not delay others. Each device is retried on its
 * own there, with growing pauses.
 */
export class Way {
  readonly origin: string | undefined;
  readonly breaker: Breaker;
  readonly bucket: Bucket;
  readonly known: Line<Part>;
  readonly newcomers: Line<Part>;
  usedAtMs: number;
  /** Whether it was reported that the circuit is open. */
  isReported = false;
  private readonly isShared: boolean;
  private readonly random: () => number;
  private isNewcomersTurn = false;

  constructor({ origin, isShared, rate, nowMs, random, doubt }: WayOptions) {
    this.origin = origin;
    this.isShared = isShared;
    this.random = random;
    this.breaker = new Breaker(doubt);
    this.bucket = new Bucket(rate, nowMs);
    this.usedAtMs = nowMs;
    this.known = new Line(random);
    this.newcomers = new Line(random);
  }

  get inFlight(): number {
    return this.known.inFlight + this.newcomers.inFlight;
  }

  get isEmpty(): boolean {
    return this.known.isEmpty && this.newcomers.isEmpty;
  }

  /** A part with a device that may be sent to now. The two queues take turns. */
  next(may: MayBeSent): Part | undefined {
    if (this.inFlight >= may.most || this.bucket.waitMs(may.nowMs) > 0) return undefined;
    this.isNewcomersTurn = !this.isNewcomersTurn;
    return this.isNewcomersTurn
      ? (this.nextNewcomer(may) ?? this.nextKnown(may))
      : (this.nextKnown(may) ?? this.nextNewcomer(may));
  }

  /** Time until a waiting device may be sent to; 0: only a place is missing. */
  waitMs(nowMs: number): number {
    const waits: number[] = [];
    if (!this.known.isEmpty) waits.push(this.knownWaitMs(nowMs));
    if (!this.newcomers.isEmpty) waits.push(this.newcomerWaitMs(nowMs));
    // The rate matters only to devices that the circuit lets pass.
    return Math.min(...waits) || this.bucket.waitMs(nowMs);
  }

  /** Whether one more newcomer may be sent to, of `most` sends in all. */
  hasPlaceForNewcomer(most: number): boolean {
    return this.newcomers.inFlight < untrustedLimit(most, !this.known.isEmpty);
  }

  /** Takes note of an outcome, and gives what it changed about the circuit. */
  learn(ticket: Ticket, sent: Sent, outcome: Outcome, nowMs: number): ReturnType<Breaker['learn']> {
    return this.isShared ? 'unchanged' : this.breaker.learn(ticket, sent, outcome, nowMs);
  }

  /**
   * Whether a device waits here whose outcome can close the circuit, and that was not tried in vain. Otherwise others
   * must be let into memory: those that wait may all have turned.
   */
  hasProbe(): boolean {
    return this.known.untried > 0 || (!this.newcomers.isEmpty && this.breaker.believesNewcomers());
  }

  private nextKnown({ nowMs, isLeased }: MayBeSent): Part | undefined {
    const { known, breaker } = this;
    if (known.isEmpty) return undefined;
    if (breaker.opened === undefined) return known.turns.next(isLeased);
    if (known.untried > 0 && breaker.untriedWaitMs(nowMs) === 0) {
      const mayBeProbe = (part: Part) => part.hasUntried && isLeased(part);
      const untried = known.turns.next(mayBeProbe, this.random());
      if (untried !== undefined) return untried;
    }
    return breaker.waitMs(nowMs) > 0 ? undefined : known.turns.next(isLeased, this.random());
  }

  private knownWaitMs(nowMs: number): number {
    const { known, breaker } = this;
    return known.untried > 0 ? breaker.untriedWaitMs(nowMs) : breaker.waitMs(nowMs);
  }

  private nextNewcomer({ nowMs, most, newcomers, isLeased }: MayBeSent): Part | undefined {
    if (this.newcomers.isEmpty || !newcomers || !this.hasPlaceForNewcomer(most)) return undefined;
    if (this.newcomerWaitMs(nowMs) > 0) return undefined;
    return this.newcomers.turns.next(isLeased);
  }

  private newcomerWaitMs(nowMs: number): number {
    return this.breaker.newcomerWaitMs(nowMs, this.known.untried > 0);
  }
}

export interface PartOptions {
  readonly work: Work;
  readonly way: Way;
  readonly prepared: Prepared;
  /** Whether no gateway has accepted any of its devices yet. */
  readonly areNewcomers: boolean;
  /** Places among the recipients of the work. */
  readonly places: readonly number[];
  /** Those of devices that were tried in vain since the circuit opened. */
  readonly tried: readonly number[];
  readonly nowMs: number;
  /** Called when the part is no longer used. */
  readonly left: (part: Part) => void;
}

/** The devices of one job on one way: either those that were accepted before, or the newcomers. */
export class Part implements PartOfWork {
  readonly work: Work;
  readonly way: Way;
  readonly prepared: Prepared;
  readonly areNewcomers: boolean;
  /** Sends in flight. */
  inFlight = 0;
  /** Those before `at` have had their turn. Those from `triedFrom` on had one before. */
  private readonly places: number[];
  private readonly triedFrom: number;
  private at = 0;
  private waitingSinceMs: number;
  private isQueued = false;
  private readonly left: (part: Part) => void;

  constructor({ work, way, prepared, areNewcomers, places, tried, nowMs, left }: PartOptions) {
    this.work = work;
    this.way = way;
    this.prepared = prepared;
    this.areNewcomers = areNewcomers;
    this.places = places.concat(tried);
    this.triedFrom = places.length;
    this.waitingSinceMs = nowMs;
    this.left = left;
    this.line.add(this.places.length, nowMs);
    this.line.untried += places.length;
    this.queue();
  }

  get owner(): object {
    return this.prepared;
  }

  get line(): Line<Part> {
    return this.areNewcomers ? this.way.newcomers : this.way.known;
  }

  get isOver(): boolean {
    return !this.hasNext && this.inFlight === 0;
  }

  get hasNext(): boolean {
    return this.at < this.places.length;
  }

  /** Whether some of those that wait had no turn before. */
  get hasUntried(): boolean {
    return this.at < this.triedFrom;
  }

  get endsAtMs(): number {
    return this.prepared.lifetime.endsAtMs;
  }

  get firstTryUntilMs(): number {
    return this.prepared.lifetime.firstTryUntilMs;
  }

  get pausedFor(): { readonly reason: string; readonly words: string } | undefined {
    return this.way.breaker.opened;
  }

  /**
   * Takes the place of the next device; there must be one. `random`, from 0 to 1 excluded, picks one of all that had no
   * turn before, or else one of all that wait.
   */
  take(nowMs: number, random = 0): number {
    const { places, at } = this;
    const end = this.hasUntried ? this.triedFrom : places.length;
    if (this.hasUntried) this.line.untried--;
    const chosen = at + Math.floor(random * (end - at));
    const place = places[chosen] ?? 0;
    places[chosen] = places[at] ?? 0;
    this.at++;
    this.line.remove(1);
    this.waitingSinceMs = nowMs;
    if (!this.hasNext) this.unqueue();
    return place;
  }

  /** Lets a device wait again, behind all others: one device that keeps failing must not block them. */
  putBack(place: number, nowMs: number): void {
    this.places.push(place);
    this.line.add(1, nowMs);
    this.queue();
  }

  holdsUp(nowMs: number): boolean {
    // The clock was set back.
    if (nowMs < this.waitingSinceMs) this.waitingSinceMs = nowMs;
    return this.isShut(nowMs) || this.line.isSlow(nowMs, this.waitingSinceMs);
  }

  isShut(nowMs: number): boolean {
    return this.way.breaker.isShut(nowMs);
  }

  returnMs(nowMs: number): number {
    return this.line.returnMs(nowMs, this.way.breaker);
  }

  takeAll(): readonly number[] {
    const waiting = this.places.slice(this.at);
    this.line.untried -= Math.max(0, this.triedFrom - this.at);
    this.at = this.places.length;
    this.line.remove(waiting.length);
    this.unqueue();
    return waiting;
  }

  leave(): void {
    this.takeAll();
    this.left(this);
  }

  private queue(): void {
    if (this.isQueued || !this.hasNext) return;
    this.isQueued = true;
    this.line.turns.add(this);
  }

  private unqueue(): void {
    if (!this.isQueued) return;
    this.isQueued = false;
    this.line.turns.remove(this);
  }
}
