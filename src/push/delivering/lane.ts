import type { Platform, Recipient } from '../device.ts';
import type { Outcome } from '../gateway.ts';
import { type After, afterOutcome } from './after-outcome.ts';
import type { Rate } from './bucket.ts';
import { endpointOrigin } from './endpoint-origin.ts';
import { type DeliveryLimits, IDLE_MS } from './limits.ts';
import type { Pause, PipelineNotices, PipelineTimers } from './ports.ts';
import { type AnyGateway, Prepared } from './prepared.ts';
import { resultOf } from './results.ts';
import type { StoredPublish } from './stored-publish.ts';
import { Part, Way } from './way.ts';
import type { Work } from './work.ts';

/** Devices by what became of them. */
export type OutcomeCounts = Record<After['what'], number>;

export interface LaneOptions {
  readonly instance: number;
  readonly instanceId: string;
  readonly gateway: AnyGateway;
  readonly rate: Rate;
  readonly limits: DeliveryLimits;
  readonly timers: PipelineTimers;
  readonly random: () => number;
  readonly notices: PipelineNotices;
  readonly counts: OutcomeCounts;
  /** Hears that nothing of a work is under way now. */
  readonly idle: (work: Work) => void;
  /** Hears that a way is used again. */
  readonly resumed: (pause: Pause) => void;
}

/**
 * Platforms of which a device is bound to the credential that it registered with: a browser subscribes with a key.
 * On the others, one credential is for all, and that it is not accepted says nothing of any device.
 */
const BOUND_TO_KEY: ReadonlySet<Platform> = new Set(['web']);

/** Failures in a row for want of authorisation that are of all devices. */
const UNAUTHORISED_MAX = 1;
const UNAUTHORISED_MAX_BOUND = 10;

/** What one push service of several may have of what the gateway does at once: one that hangs leaves room. */
const SHARE_OF_SERVICE = 0.5;

/** The origin of push services that are not told from each other. */
const OTHER_SERVICES = 'others';

const ACCEPTED: After = { what: 'accepted' };

/** Its time has run out while it waited. */
const EXPIRED: After = { what: 'expired', reason: 'expired', words: '' };

/** The reason of an attempt at which something of this server broke. */
const FAULT: Outcome = {
  result: 'try-again',
  reason: 'fault',
  afterMs: undefined,
  scope: 'device',
};

/**
 * Sends to the devices of one platform of one instance. No lane waits for another, and in a lane no push service
 * waits for another: each is a way with a queue of its own, so that "the gateway" of an outcome is that service.
 * Where there are more than `limits.ways`, the others share one, on which no outcome stops what is for others.
 */
export class Lane {
  readonly instance: number;
  readonly platform: Platform;
  usedAtMs: number;
  private readonly options: LaneOptions;
  private gateway: AnyGateway;
  private readonly ways: Way[] = [];
  private readonly wayByOrigin = new Map<string, Way>();
  private readonly prepared = new Map<number, Prepared>();
  private senders = 0;
  private turn = 0;
  private isStopped = false;
  private alarm: { readonly atMs: number; readonly cancel: () => void } | undefined;
  private leasedUntilMs = 0;
  private readonly isLeased = (part: Part): boolean =>
    part.work.leasedUntilMs >= this.leasedUntilMs;

  constructor(options: LaneOptions) {
    this.options = options;
    this.gateway = options.gateway;
    this.instance = options.instance;
    this.platform = options.gateway.platform;
    this.usedAtMs = options.timers.now();
  }

  /** Sends under way. */
  get sending(): number {
    return this.senders;
  }

  private get isBoundToKey(): boolean {
    return BOUND_TO_KEY.has(this.platform);
  }

  /** Whether nothing is known of it that would be missed. */
  isIdle(nowMs: number): boolean {
    return this.senders === 0 && this.prepared.size === 0 && nowMs - this.usedAtMs > IDLE_MS;
  }

  /** Whether nobody is reached for longer than it is worth waiting for, and something waits that finds out when that ends. */
  isShut(nowMs: number): boolean {
    return (
      this.ways.some((way) => !way.turns.isEmpty) && this.ways.every((way) => way.isShut(nowMs))
    );
  }

  /** The ways that are not used now, and why. */
  pauses(): readonly Pause[] {
    return this.ways.flatMap((way) => this.pauseOf(way) ?? []);
  }

  /** Takes in the devices at some places of a work. They are sent to by `start`. */
  add(work: Work, places: readonly number[], stored: () => StoredPublish | undefined): void {
    const nowMs = this.options.timers.now();
    this.usedAtMs = nowMs;
    const prepared = this.prepare(work, stored);
    if (this.platform !== 'web') {
      this.addPart(work, this.way(''), prepared, [...places], nowMs);
      return;
    }
    const byOrigin = Map.groupBy(places, (place) =>
      endpointOrigin(work.recipients[place]?.token ?? ''),
    );
    for (const [origin, some] of byOrigin) {
      this.addPart(work, this.way(origin), prepared, some, nowMs);
    }
  }

  /** Sends whatever may be sent now, and comes back by itself when more may be. */
  start(): void {
    while (this.senders < this.gateway.atOnce) {
      const part = this.next();
      if (part === undefined) break;
      this.senders++;
      void this.sendFrom(part);
    }
    this.setAlarm();
  }

  /** Uses another gateway from now on, as where a credential was replaced; what was learned of the old one is forgotten. */
  use(gateway: AnyGateway): void {
    if (gateway === this.gateway) return;
    this.gateway = gateway;
    for (const prepared of this.prepared.values()) prepared.sendThrough(gateway);
    for (const way of this.ways) {
      const pause = this.pauseOf(way);
      way.forget();
      if (pause !== undefined) this.tellResumed(pause);
    }
    this.start();
  }

  /** To be called about once a second. */
  look(passedMs: number): void {
    const nowMs = this.options.timers.now();
    for (const way of this.ways) way.measure(passedMs);
    for (const [origin, way] of this.wayByOrigin) {
      if (way.inFlight > 0 || !way.turns.isEmpty || nowMs - way.usedAtMs <= IDLE_MS) continue;
      this.wayByOrigin.delete(origin);
      this.ways.splice(this.ways.indexOf(way), 1);
    }
    // Claims that have been renewed let more be sent.
    this.start();
  }

  /** Sends nothing more. */
  stop(): void {
    this.isStopped = true;
    this.alarm?.cancel();
    this.alarm = undefined;
  }

  private prepare({ job }: Work, stored: () => StoredPublish | undefined): Prepared {
    const { publish } = job.job;
    const known = this.prepared.get(publish.number);
    if (known !== undefined) return known;
    const prepared = new Prepared(publish, stored(), this.options.instanceId, this.gateway);
    this.prepared.set(publish.number, prepared);
    return prepared;
  }

  private addPart(work: Work, way: Way, prepared: Prepared, places: number[], nowMs: number): void {
    way.usedAtMs = nowMs;
    prepared.uses++;
    const part = new Part({ work, way, prepared }, places, nowMs, this.left);
    work.parts.push(part);
  }

  private readonly left = ({ prepared }: Part): void => {
    prepared.uses--;
    if (prepared.uses === 0) this.prepared.delete(prepared.publish.number);
  };

  private way(origin: string): Way {
    const known = this.wayByOrigin.get(origin);
    if (known !== undefined) return known;
    const { limits, rate, random, timers } = this.options;
    if (this.ways.length >= limits.ways && origin !== OTHER_SERVICES) {
      return this.way(OTHER_SERVICES);
    }
    const way = new Way({
      origin: this.platform === 'web' ? origin : undefined,
      isShared: origin === OTHER_SERVICES,
      rate,
      unauthorisedMax: this.isBoundToKey ? UNAUTHORISED_MAX_BOUND : UNAUTHORISED_MAX,
      nowMs: timers.now(),
      random,
    });
    this.wayByOrigin.set(origin, way);
    this.ways.push(way);
    return way;
  }

  /** A part of which a device may be sent to now. */
  private next(): Part | undefined {
    if (this.isStopped) return undefined;
    const nowMs = this.options.timers.now();
    this.leasedUntilMs = nowMs + this.options.limits.sendMs;
    const most = this.mostOfWay();
    for (let tried = this.ways.length; tried > 0; tried--) {
      if (this.turn >= this.ways.length) this.turn = 0;
      const way = this.ways[this.turn];
      this.turn++;
      if (way === undefined || way.turns.isEmpty || way.inFlight >= most) continue;
      if (way.waitMs(nowMs) > 0) continue;
      const part = way.turns.next(this.isLeased);
      if (part !== undefined) return part;
    }
    return undefined;
  }

  private mostOfWay(): number {
    const { atOnce } = this.gateway;
    return this.platform === 'web' ? Math.max(1, Math.floor(atOnce * SHARE_OF_SERVICE)) : atOnce;
  }

  /** One after the other: this costs a device no more than one turn of a loop that many run at the same time. */
  private async sendFrom(first: Part): Promise<void> {
    for (let part: Part | undefined = first; part !== undefined; part = this.next()) {
      const { way, work, prepared } = part;
      const nowMs = this.options.timers.now();
      const place = part.take(nowMs);
      const recipient = work.recipients[place];
      if (recipient === undefined || this.isOver(part, recipient, nowMs)) continue;

      const ticket = way.breaker.begin(nowMs);
      way.bucket.take();
      way.usedAtMs = nowMs;
      way.inFlight++;
      work.inFlight++;
      work.movedAtMs = nowMs;
      let outcome: Outcome;
      try {
        outcome = await prepared.deliver(recipient);
      } catch (error) {
        this.options.notices.fault(error);
        outcome = FAULT;
      }
      way.inFlight--;
      way.outcomes++;
      work.inFlight--;
      this.learn(part, place, recipient, ticket, outcome);
    }
    this.senders--;
    this.setAlarm();
  }

  /** Whether nothing needs to be sent to a device any more; then it has its result. */
  private isOver({ work, prepared }: Part, recipient: Recipient, nowMs: number): boolean {
    const attempts = work.attemptsOf(recipient);
    const { endsAtMs, firstTryUntilMs } = prepared.lifetime;
    if (nowMs >= (attempts === 0 ? firstTryUntilMs : endsAtMs)) {
      this.settle(work, recipient, attempts, EXPIRED);
      return true;
    }
    if (prepared.refusal === undefined) return false;
    this.settle(work, recipient, attempts, { what: 'failed', ...prepared.refusal });
    return true;
  }

  private learn(
    part: Part,
    place: number,
    recipient: Recipient,
    ticket: number,
    outcome: Outcome,
  ): void {
    const { way, work, prepared } = part;
    const nowMs = this.options.timers.now();
    work.movedAtMs = nowMs;
    const before = this.pauseOf(way);
    const change = way.learn(ticket, outcome, nowMs);
    if (change !== 'unchanged') this.tellChange(way, before);
    if (prepared.learn(outcome) && prepared.refusal !== undefined) {
      const { reason, words } = prepared.refusal;
      this.options.notices.refused(prepared.publish, this.platform, reason, words);
    }
    if (!work.isClosed) {
      if (outcome.result === 'accepted') this.settle(work, recipient, 0, ACCEPTED);
      else this.goOn(part, place, recipient, outcome, nowMs);
    }
    if (change === 'closed') this.start();
  }

  /** What follows for a device that was not accepted. */
  private goOn(
    part: Part,
    place: number,
    recipient: Recipient,
    outcome: Outcome,
    nowMs: number,
  ): void {
    const { way, work } = part;
    const attempts = work.attemptsOf(recipient) + 1;
    const after = afterOutcome(outcome, {
      attempts,
      nowMs,
      endsAtMs: part.endsAtMs,
      registeredAtMs: recipient.registeredAtMs,
      onlyItsKeyRefused: this.isBoundToKey && way.wereOthersAccepted(nowMs),
      random: this.options.random,
    });
    // While nobody is reached, a device waits with the others of its page, and needs no row of its own.
    if (after.what === 'retry' && way.breaker.opened !== undefined && concernsWay(outcome)) {
      part.putBack(place);
      if (work.inFlight === 0) this.options.idle(work);
    } else {
      this.settle(work, recipient, attempts, after);
    }
  }

  private tellChange(way: Way, before: Pause | undefined): void {
    const pause = this.pauseOf(way);
    if (pause !== undefined) this.options.notices.paused(pause);
    else if (before !== undefined) this.tellResumed(before);
  }

  private tellResumed(pause: Pause): void {
    this.options.notices.resumed(pause);
    this.options.resumed(pause);
  }

  private settle(work: Work, recipient: Recipient, attempts: number, after: After): void {
    this.options.counts[after.what]++;
    work.settle(resultOf(recipient, attempts, after));
    if (work.inFlight === 0) this.options.idle(work);
  }

  private pauseOf(way: Way): Pause | undefined {
    const { opened } = way.breaker;
    const { instance, platform } = this;
    return opened && { instance, platform, origin: way.origin, ...opened };
  }

  /** Comes back when a breaker lets a probe through, or a bucket has something in it again. */
  private setAlarm(): void {
    if (this.isStopped || this.senders >= this.gateway.atOnce) return;
    const { timers } = this.options;
    const nowMs = timers.now();
    let atMs = Number.POSITIVE_INFINITY;
    for (const way of this.ways) {
      if (way.turns.isEmpty) continue;
      const waitMs = way.waitMs(nowMs);
      // What waits for nothing but a place, or a claim that is renewed, is woken by that.
      if (waitMs > 0) atMs = Math.min(atMs, nowMs + waitMs);
    }
    if (atMs === Number.POSITIVE_INFINITY || (this.alarm !== undefined && this.alarm.atMs <= atMs))
      return;
    this.alarm?.cancel();
    const cancel = timers.after(atMs - nowMs, () => {
      this.alarm = undefined;
      this.start();
    });
    this.alarm = { atMs, cancel };
  }
}

/** Whether an outcome is about the way more than about the device. */
function concernsWay(outcome: Outcome): boolean {
  if (outcome.result === 'not-authorised') return true;
  return (
    outcome.result === 'try-again' && (outcome.scope === 'gateway' || outcome.afterMs === undefined)
  );
}
