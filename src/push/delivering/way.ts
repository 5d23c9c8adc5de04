import type { Outcome } from '../gateway.ts';
import { Breaker, type Ticket } from './breaker.ts';
import { Bucket, type Rate } from './bucket.ts';
import { LATER_MS_MAX, PATIENCE_MS, SLOW_MS, TURN_MS_MAX } from './limits.ts';
import type { Prepared } from './prepared.ts';
import { Turns } from './turns.ts';
import type { PartOfWork, Work } from './work.ts';

/** How fast devices come back that could not wait: as others had outcomes lately, but not slower than that. */
const RETURNS_PER_SECOND_MIN = 10;
const RETURNS_PER_SECOND_MIN_SHUT = 100;
const RETURN_MS_MIN = 1_000;

/** Others are accepted who were within this time. */
const LATELY_MS = 60_000;

/** How much of the measured speed is from the last second. */
const NEWEST_SHARE = 0.3;

export interface WayOptions {
  /** Of a push service, where it is one of several. */
  readonly origin: string | undefined;
  /** Whether it leads to several push services. */
  readonly isShared: boolean;
  readonly rate: Rate;
  /** Failures in a row for want of authorisation that say something of all devices. */
  readonly unauthorisedMax: number;
  readonly nowMs: number;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
}

/**
 * What devices share that are reached with one credential at one place: a queue in which publishes take turns,
 * how fast they are sent to, and whether they are sent to at all.
 *
 * A way that is shared by push services is never left alone, whatever their outcomes are, nor does what one of them
 * accepts say anything of another's device: whoever registers endpoints at a place that answers nothing must not
 * hold up those of others. Its devices come back one by one instead, each later than before.
 */
export class Way {
  readonly origin: string | undefined;
  private readonly isShared: boolean;
  readonly breaker: Breaker;
  readonly bucket: Bucket;
  readonly turns = new Turns<Part>();
  inFlight = 0;
  usedAtMs: number;
  private acceptedAtMs = Number.NEGATIVE_INFINITY;
  /** Outcomes since the last measurement. */
  outcomes = 0;
  private readonly random: () => number;
  private perSecond = 0;
  private slowSinceMs = Number.NEGATIVE_INFINITY;
  private lastReturnMs = 0;

  constructor({ origin, isShared, rate, unauthorisedMax, nowMs, random }: WayOptions) {
    this.origin = origin;
    this.isShared = isShared;
    this.breaker = new Breaker(unauthorisedMax);
    this.bucket = new Bucket(rate, nowMs);
    this.usedAtMs = nowMs;
    this.random = random;
  }

  /** 0 where a device may be sent to now, otherwise how long that takes at least. */
  waitMs(nowMs: number): number {
    // The second is only asked by what may pass the first.
    return this.breaker.waitMs(nowMs) || this.bucket.waitMs(nowMs);
  }

  /** Takes in an outcome. `'opened'` and `'closed'` of its breaker: since now. */
  learn(ticket: Ticket, outcome: Outcome, nowMs: number): ReturnType<Breaker['learn']> {
    if (outcome.result === 'accepted') this.acceptedAtMs = nowMs;
    return this.isShared ? 'unchanged' : this.breaker.learn(ticket, outcome, nowMs);
  }

  /** Whether other devices were accepted lately, at the same place and with the same credential. */
  wereOthersAccepted(nowMs: number): boolean {
    return !this.isShared && isWithin(LATELY_MS, this.acceptedAtMs, nowMs);
  }

  /** Forgets what it has learned, as where the credential was replaced. */
  forget(): void {
    this.breaker.reset();
    this.acceptedAtMs = Number.NEGATIVE_INFINITY;
  }

  isShut(nowMs: number): boolean {
    return this.breaker.isOpenFor(PATIENCE_MS, nowMs);
  }

  isSlow(nowMs: number, waitingSinceMs: number): boolean {
    return isWithin(SLOW_MS, this.slowSinceMs, nowMs) || nowMs - waitingSinceMs > TURN_MS_MAX;
  }

  /**
   * When a device comes back that could not wait: one after the other, as fast as there was room lately. Each is
   * a row of its own meanwhile, so they should not come in vain.
   */
  returnMs(nowMs: number): number {
    const isShut = this.breaker.opened !== undefined;
    if (!isShut) this.slowSinceMs = nowMs;
    // It is never so far ahead, but by a clock that was set back since.
    if (this.lastReturnMs > nowMs + LATER_MS_MAX) this.lastReturnMs = 0;
    const least = isShut ? RETURNS_PER_SECOND_MIN_SHUT : RETURNS_PER_SECOND_MIN;
    const earliestMs = nowMs + Math.max(RETURN_MS_MIN, this.breaker.awayMs(nowMs));
    const afterLastMs = this.lastReturnMs + 1000 / Math.max(least, this.perSecond);
    this.lastReturnMs = Math.max(earliestMs, afterLastMs);
    if (this.lastReturnMs <= nowMs + LATER_MS_MAX) return Math.ceil(this.lastReturnMs);
    this.lastReturnMs = nowMs + LATER_MS_MAX;
    return Math.ceil(earliestMs + this.random() * LATER_MS_MAX);
  }

  /** Measures how fast outcomes come. To be called about once a second. */
  measure(passedMs: number): void {
    const lately = (this.outcomes * 1000) / Math.max(1, passedMs);
    this.perSecond += (lately - this.perSecond) * NEWEST_SHARE;
    this.outcomes = 0;
  }
}

/** Whether something was so lately; what lies ahead was so before the clock was set back, who knows when. */
function isWithin(ms: number, sinceMs: number, nowMs: number): boolean {
  const passedMs = nowMs - sinceMs;
  return passedMs >= 0 && passedMs < ms;
}

export class Part implements PartOfWork {
  readonly work: Work;
  readonly way: Way;
  readonly prepared: Prepared;
  /** Places among the recipients of the work; those before `at` have had their turn. */
  private readonly places: number[];
  private at = 0;
  private waitingSinceMs: number;
  private isQueued = false;
  private readonly left: (part: Part) => void;

  constructor(
    { work, way, prepared }: Pick<Part, 'work' | 'way' | 'prepared'>,
    places: number[],
    nowMs: number,
    /** Hears that it is not used any more. */
    left: (part: Part) => void,
  ) {
    this.work = work;
    this.way = way;
    this.prepared = prepared;
    this.places = places;
    this.waitingSinceMs = nowMs;
    this.left = left;
    this.queue();
  }

  get owner(): object {
    return this.prepared;
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

  /** The place of the next device; to be called where there is one. */
  take(nowMs: number): number {
    const place = this.places[this.at] ?? 0;
    this.at++;
    this.waitingSinceMs = nowMs;
    if (!this.hasNext) this.unqueue();
    return place;
  }

  /** It goes to the end: what is the matter with one device must not stand before the others again and again. */
  putBack(place: number): void {
    this.places.push(place);
    this.queue();
  }

  holdsUp(nowMs: number): boolean {
    // By a clock that was set back, it would hold up nobody for as long.
    if (nowMs < this.waitingSinceMs) this.waitingSinceMs = nowMs;
    return this.isShut(nowMs) || this.way.isSlow(nowMs, this.waitingSinceMs);
  }

  isShut(nowMs: number): boolean {
    return this.way.isShut(nowMs);
  }

  returnMs(nowMs: number): number {
    return this.way.returnMs(nowMs);
  }

  takeAll(): readonly number[] {
    const waiting = this.places.slice(this.at);
    this.at = this.places.length;
    this.unqueue();
    return waiting;
  }

  leave(): void {
    this.unqueue();
    this.left(this);
  }

  private queue(): void {
    if (this.isQueued || !this.hasNext) return;
    this.isQueued = true;
    this.way.turns.add(this);
  }

  private unqueue(): void {
    if (!this.isQueued) return;
    this.isQueued = false;
    this.way.turns.remove(this);
  }
}
