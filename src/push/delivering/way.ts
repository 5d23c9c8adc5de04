import type { Outcome } from '../gateway.ts';
import { newcomersMax } from '../newcomer-share.ts';
import { Breaker, type Sent, type Ticket } from './breaker.ts';
import { Bucket, type Rate } from './bucket.ts';
import { isWithin, Line } from './line.ts';
import type { Prepared } from './prepared.ts';
import type { PartOfWork, Work } from './work.ts';

/** How long an acceptance counts as recent. */
const LATELY_MS = 60_000;

interface Acceptance {
  readonly device: number;
  readonly atMs: number;
}

export interface WayOptions {
  /** Of a push service, where it is one of several. */
  readonly origin: string | undefined;
  /** Whether it leads to several push services. */
  readonly isShared: boolean;
  readonly rate: Rate;
  readonly nowMs: number;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
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
  readonly breaker = new Breaker();
  readonly bucket: Bucket;
  readonly known: Line<Part>;
  readonly newcomers: Line<Part>;
  usedAtMs: number;
  private readonly isShared: boolean;
  /** The device that was accepted last, and the last other device before it. */
  private accepted: Acceptance | undefined;
  private acceptedBefore: Acceptance | undefined;
  private isNewcomersTurn = false;

  constructor({ origin, isShared, rate, nowMs, random }: WayOptions) {
    this.origin = origin;
    this.isShared = isShared;
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
    if (!this.known.isEmpty) waits.push(this.breaker.waitMs(nowMs));
    if (!this.newcomers.isEmpty) waits.push(this.newcomerWaitMs(nowMs));
    // The rate matters only to devices that the circuit lets pass.
    return Math.min(...waits) || this.bucket.waitMs(nowMs);
  }

  /** Whether one more newcomer may be sent to, of `most` sends in all. */
  hasPlaceForNewcomer(most: number): boolean {
    return this.newcomers.inFlight < newcomersMax(most, !this.known.isEmpty);
  }

  /** Takes note of an outcome, and gives what it changed about the circuit. */
  learn(
    ticket: Ticket,
    { device, isWitness }: Pick<Sent, 'device' | 'isWitness'>,
    outcome: Outcome,
    nowMs: number,
  ): ReturnType<Breaker['learn']> {
    if (outcome.result === 'accepted') {
      if (this.accepted?.device !== device) this.acceptedBefore = this.accepted;
      this.accepted = { device, atMs: nowMs };
    }
    if (this.isShared) return 'unchanged';
    const areOthersAccepted = this.wereOthersAccepted(device, nowMs);
    return this.breaker.learn(ticket, { device, isWitness, areOthersAccepted }, outcome, nowMs);
  }

  /** Whether another device was accepted lately at the same gateway with the same credential. */
  wereOthersAccepted(device: number, nowMs: number): boolean {
    const other = this.accepted?.device === device ? this.acceptedBefore : this.accepted;
    return !this.isShared && other !== undefined && isWithin(LATELY_MS, other.atMs, nowMs);
  }

  /** Whether a device waits here whose outcome can close the circuit. */
  hasProbe(): boolean {
    return !this.known.isEmpty || (!this.newcomers.isEmpty && this.breaker.believesNewcomers());
  }

  /** Forgets what it has learned, because the credential was replaced. */
  forget(): void {
    this.breaker.reset();
    this.accepted = undefined;
    this.acceptedBefore = undefined;
  }

  private nextKnown({ nowMs, isLeased }: MayBeSent): Part | undefined {
    if (this.known.isEmpty || this.breaker.waitMs(nowMs) > 0) return undefined;
    return this.known.turns.next(isLeased);
  }

  private nextNewcomer({ nowMs, most, newcomers, isLeased }: MayBeSent): Part | undefined {
    if (this.newcomers.isEmpty || !newcomers || !this.hasPlaceForNewcomer(most)) return undefined;
    if (this.newcomerWaitMs(nowMs) > 0) return undefined;
    return this.newcomers.turns.next(isLeased);
  }

  private newcomerWaitMs(nowMs: number): number {
    return this.breaker.newcomerWaitMs(nowMs, !this.known.isEmpty);
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
  /** Those before `at` have had their turn. */
  private readonly places: number[];
  private at = 0;
  private waitingSinceMs: number;
  private isQueued = false;
  private readonly left: (part: Part) => void;

  constructor({ work, way, prepared, areNewcomers, places, nowMs, left }: PartOptions) {
    this.work = work;
    this.way = way;
    this.prepared = prepared;
    this.areNewcomers = areNewcomers;
    this.places = [...places];
    this.waitingSinceMs = nowMs;
    this.left = left;
    this.line.add(places.length, nowMs);
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

  get endsAtMs(): number {
    return this.prepared.lifetime.endsAtMs;
  }

  get firstTryUntilMs(): number {
    return this.prepared.lifetime.firstTryUntilMs;
  }

  get pausedFor(): { readonly reason: string; readonly words: string } | undefined {
    return this.way.breaker.opened;
  }

  /** Takes the place of the next device; there must be one. `random`, from 0 to 1 excluded, picks one of all that wait. */
  take(nowMs: number, random = 0): number {
    const { places, at } = this;
    const chosen = at + Math.floor(random * (places.length - at));
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
