import { untrustedLimit } from '../../runtime/sender-queue.ts';
import type { Outcome } from '../gateway.ts';
import type { Platform, Recipient } from '../model/device.ts';
import { type After, afterOutcome, type OthersAccepted } from './after-outcome.ts';
import type { Rate } from './bucket.ts';
import { endpointOrigin } from './endpoint-origin.ts';
import { returnLater } from './giving-back.ts';
import { isWithin } from './is-within.ts';
import { type DeliveryLimits, IDLE_MS } from './limits.ts';
import type { Pause, PipelineNotices, PipelineTimers } from './ports.ts';
import { type AnyGateway, Prepared } from './prepared.ts';
import { resultOf } from './results.ts';
import type { StoredPublish } from './stored-publish.ts';
import { type MayBeSent, Part, Way } from './way.ts';
import { Witnesses } from './witnesses.ts';
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

/** A circuit that is open for less than this is not reported: an acceptance that was on its way has closed it. */
const REPORT_MS = 1_000;

/** The origin of push services that are not told from each other. */
const OTHER_SERVICES = 'others';

const ACCEPTED: After = { what: 'accepted' };

/** Its time has run out while it waited. */
const EXPIRED: After = { what: 'expired', reason: 'expired', words: '' };

/** A send with an outcome. */
interface LaneAttempt {
  readonly part: Part;
  readonly place: number;
  readonly recipient: Recipient;
  readonly ticket: number;
  /** It was sent while the circuit was open. */
  readonly isProbe: boolean;
}

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
  private readonly witnesses = new Witnesses();
  /** Whether any device was accepted with the current credential. */
  private hasAccepted = false;
  private senders = 0;
  /** Sends without an outcome: all, and those to newcomers. */
  private inFlight = 0;
  private newcomersInFlight = 0;
  private turn = 0;
  private isStopped = false;
  private alarm: { readonly atMs: number; readonly cancel: () => void } | undefined;
  private claimedUntilMs = 0;
  private readonly isLeased = (part: Part): boolean =>
    part.work.claimedUntilMs >= this.claimedUntilMs;

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

  /** Whether nothing is known of it that would be missed. */
  isIdle(nowMs: number): boolean {
    return this.senders === 0 && this.prepared.size === 0 && nowMs - this.usedAtMs > IDLE_MS;
  }

  /** Whether all circuits stay open for longer than a job should wait in memory, and a device waits that can close one. */
  isShut(nowMs: number): boolean {
    return (
      this.ways.some((way) => way.hasProbe()) &&
      this.ways.every(({ breaker }) => breaker.isShut(nowMs))
    );
  }

  /** The ways that are not used now, and why. */
  pauses(): readonly Pause[] {
    return this.ways.flatMap((way) => this.pauseOf(way) ?? []);
  }

  /** Takes in the devices at some places of a work. They are sent to by `start`. */
  add(work: Work, places: readonly number[], stored: () => StoredPublish | undefined): void {
    this.usedAtMs = this.options.timers.now();
    const prepared = this.prepare(work, stored);
    if (this.platform === 'web') {
      const byWay = Map.groupBy(places, (place) => this.way(this.originOf(work, place)));
      for (const [way, some] of byWay) this.addTo(way, work, prepared, some);
    } else {
      this.addTo(this.way(''), work, prepared, places);
    }
    this.unjam();
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
    this.witnesses.clear();
    this.hasAccepted = false;
    for (const prepared of this.prepared.values()) prepared.sendThrough(gateway);
    for (const way of this.ways) {
      const pause = this.pauseOf(way);
      way.breaker.reset();
      if (pause !== undefined) this.tellResumed(way, pause);
    }
    this.start();
  }

  /** To be called about once a second. */
  look(passedMs: number): void {
    const nowMs = this.options.timers.now();
    for (const { known, newcomers } of this.ways) {
      known.measure(passedMs);
      newcomers.measure(passedMs);
    }
    for (const way of this.ways) this.tellPaused(way, nowMs);
    this.unjam();
    for (const [origin, way] of this.wayByOrigin) {
      if (way.inFlight > 0 || !way.isEmpty || nowMs - way.usedAtMs <= IDLE_MS) continue;
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
    const { publish } = job;
    const known = this.prepared.get(publish.number);
    if (known !== undefined) return known;
    const prepared = new Prepared(publish, stored(), this.options.instanceId, this.gateway);
    this.prepared.set(publish.number, prepared);
    return prepared;
  }

  private originOf(work: Work, place: number): string {
    return endpointOrigin(work.recipients[place]?.token ?? '');
  }

  private addTo(way: Way, work: Work, prepared: Prepared, some: readonly number[]): void {
    const nowMs = this.options.timers.now();
    way.usedAtMs = nowMs;
    const known: number[] = [];
    const newcomers: number[] = [];
    for (const place of some) {
      const recipient = work.recipients[place];
      if (recipient === undefined) continue;
      (this.witnesses.has(recipient) ? known : newcomers).push(place);
    }
    for (const all of [known, newcomers]) {
      if (all.length === 0) continue;
      prepared.uses++;
      const areNewcomers = all === newcomers;
      const [places, tried] = this.splitTried(way, work, all);
      const { left } = this;
      work.parts.push(new Part({ work, way, prepared, areNewcomers, places, tried, nowMs, left }));
      if (!areNewcomers) way.breaker.arrived();
    }
  }

  private splitTried(
    { breaker }: Way,
    { recipients }: Work,
    places: readonly number[],
  ): readonly [untried: readonly number[], tried: readonly number[]] {
    if (breaker.opened === undefined) return [places, []];
    const isTried = (place: number) => breaker.wasTried(recipients[place]?.number ?? 0);
    return [places.filter((place) => !isTried(place)), places.filter(isTried)];
  }

  /**
   * Sends newcomers back to the store where too many wait, because they would keep other devices out of memory. While
   * the circuit is open this is not needed: then whole jobs are given back.
   */
  private unjam(): void {
    const nowMs = this.options.timers.now();
    const { newcomersWaitMs } = this.options.limits;
    const most = this.mostOfWay();
    for (const way of this.ways) {
      const { newcomers, breaker } = way;
      if (breaker.opened !== undefined) continue;
      if (this.hasPlaceForNewcomer() && way.hasPlaceForNewcomer(most)) continue;
      if (!newcomers.isJammed(newcomersWaitMs, nowMs)) continue;
      for (const part of newcomers.turns.newestFirst()) {
        if (!newcomers.isJammed(newcomersWaitMs, nowMs)) break;
        returnLater(part.work, part, nowMs);
        this.options.idle(part.work);
      }
    }
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
      nowMs: timers.now(),
      random,
      doubt: (device) => this.witnesses.doubt(device),
    });
    this.wayByOrigin.set(origin, way);
    this.ways.push(way);
    return way;
  }

  /** A part of which a device may be sent to now. */
  private next(): Part | undefined {
    if (this.isStopped) return undefined;
    const nowMs = this.options.timers.now();
    this.claimedUntilMs = nowMs + this.options.limits.sendMs;
    const may: MayBeSent = {
      nowMs,
      most: this.mostOfWay(),
      newcomers: this.hasPlaceForNewcomer(),
      isLeased: this.isLeased,
    };
    for (let tried = this.ways.length; tried > 0; tried--) {
      if (this.turn >= this.ways.length) this.turn = 0;
      const way = this.ways[this.turn];
      this.turn++;
      const part = way?.next(may);
      if (part !== undefined) return part;
    }
    return undefined;
  }

  /** Newcomers leave some places of the whole lane to other devices, however many ways they wait on. */
  private hasPlaceForNewcomer(): boolean {
    return this.newcomersInFlight < untrustedLimit(this.gateway.atOnce, false);
  }

  /**
   * The sends that one way may have under way. A push service may have as many as are still free: one alone gets
   * half of all places, and however many of them hang, there is a place left for another.
   */
  private mostOfWay(): number {
    const { atOnce } = this.gateway;
    return this.platform === 'web' ? Math.max(1, atOnce - this.inFlight) : atOnce;
  }

  /** One after the other: this costs a device no more than one turn of a loop that many run at the same time. */
  private async sendFrom(first: Part): Promise<void> {
    for (let part: Part | undefined = first; part !== undefined; part = this.next()) {
      const { way, work, prepared, areNewcomers } = part;
      const nowMs = this.options.timers.now();
      const isProbe = way.breaker.opened !== undefined;
      // At random, so that nobody gets the first turns by registering many devices early: the first outcomes decide
      // whether the circuit opens.
      const place = part.take(nowMs, this.options.random());
      const recipient = work.recipients[place];
      if (recipient === undefined || this.isOver(part, recipient, nowMs)) continue;

      const ticket = way.breaker.begin(!areNewcomers, nowMs);
      way.bucket.take();
      way.usedAtMs = nowMs;
      this.countInFlight(part, 1);
      work.movedAtMs = nowMs;
      let outcome: Outcome;
      try {
        // The connections to a gateway are shared in the same way as the places here.
        const acceptedBefore = !areNewcomers;
        outcome = await prepared.deliver(
          recipient.acceptedBefore === acceptedBefore
            ? recipient
            : { ...recipient, acceptedBefore },
        );
      } catch (error) {
        this.options.notices.fault(error);
        outcome = FAULT;
      }
      this.countInFlight(part, -1);
      part.line.outcomes++;
      this.learn({ part, place, recipient, ticket, isProbe }, outcome);
    }
    this.senders--;
    this.setAlarm();
  }

  private countInFlight(part: Part, change: 1 | -1): void {
    const { work, line, areNewcomers } = part;
    this.inFlight += change;
    work.inFlight += change;
    part.inFlight += change;
    line.inFlight += change;
    if (areNewcomers) this.newcomersInFlight += change;
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

  private learn(attempt: LaneAttempt, outcome: Outcome): void {
    const { part, recipient, ticket } = attempt;
    const { way, work, prepared } = part;
    const nowMs = this.options.timers.now();
    work.movedAtMs = nowMs;
    const isWitness = this.witnesses.has(recipient);
    const isBelieved = isWitness || way.breaker.believesNewcomers();
    const before = this.pauseOf(way);
    const change = way.learn(ticket, { device: recipient.number, isWitness }, outcome, nowMs);
    if (change === 'closed' && before !== undefined) this.tellResumed(way, before);
    if (isBelieved && prepared.learn(outcome) && prepared.refusal !== undefined) {
      const { reason, words } = prepared.refusal;
      this.options.notices.refused(prepared.publish, this.platform, reason, words);
    }
    if (outcome.result === 'accepted') {
      this.hasAccepted = true;
      this.witnesses.add(recipient);
      if (!work.isClosed) this.settle(work, recipient, 0, ACCEPTED);
    } else if (!work.isClosed) {
      this.goOn(attempt, outcome, isWitness);
    }
    if (change === 'closed') this.start();
  }

  /** What follows for a device that was not accepted. */
  private goOn(
    { part, place, recipient, isProbe }: LaneAttempt,
    outcome: Exclude<Outcome, { readonly result: 'accepted' }>,
    isWitness: boolean,
  ): void {
    const { way, work } = part;
    const nowMs = this.options.timers.now();
    const attempts = work.attemptsOf(recipient) + 1;
    const after = afterOutcome(outcome, {
      attempts,
      nowMs,
      endsAtMs: part.endsAtMs,
      registeredAtMs: recipient.registeredAtMs,
      isNewcomer: !this.witnesses.wasAccepted(recipient),
      isBoundToKey: BOUND_TO_KEY.has(this.platform),
      others: this.othersAccepted(way, recipient.number, nowMs),
      random: this.options.random,
    });
    // While the circuit is open, a device keeps waiting with the rest of its page and needs no row of its own. A
    // newcomer that was a probe has had its turn, and makes room for the next one.
    const mayWait = isWitness || !isProbe || isOfConnection(outcome);
    if (after.what === 'retry' && mayWait && concernsWay(outcome, way)) {
      part.putBack(place, nowMs);
      if (work.inFlight === 0) this.options.idle(work);
    } else {
      this.settle(work, recipient, attempts, after);
    }
  }

  private othersAccepted(way: Way, device: number, nowMs: number): OthersAccepted {
    if (way.breaker.opened !== undefined) return 'none';
    if (way.breaker.areOthersWell(device, nowMs)) return 'here';
    return this.hasAccepted ? 'somewhere' : 'none';
  }

  private tellPaused(way: Way, nowMs: number): void {
    const pause = this.pauseOf(way);
    if (pause === undefined || way.isReported || isWithin(REPORT_MS, pause.sinceMs, nowMs)) return;
    way.isReported = true;
    this.options.notices.paused(pause);
  }

  private tellResumed(way: Way, pause: Pause): void {
    if (way.isReported) this.options.notices.resumed(pause);
    way.isReported = false;
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
      if (way.isEmpty) continue;
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

/** Whether the failure came before any device was named. */
function isOfConnection(outcome: Outcome): boolean {
  return 'scope' in outcome && outcome.scope === 'connection';
}

/** Whether a device has to wait for the circuit. A device with a `Retry-After` waits for its own time instead. */
function concernsWay(outcome: Outcome, { breaker }: Way): boolean {
  if (breaker.opened === undefined) return false;
  if (outcome.result !== 'try-again') return outcome.result === 'not-authorised';
  return outcome.afterMs === undefined || outcome.scope === 'connection';
}
