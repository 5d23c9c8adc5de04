import type { Clock, Log } from '../../runtime/ports.ts';
import { perSecond, TokenBucket } from '../../runtime/rates/token-bucket.ts';
import type { App } from '../app.ts';
import type { Cause } from '../event.ts';
import type { Meter } from '../ports.ts';
import type { RatedRequest, TakenUsage, UnsharedUsage } from './unshared-usage.ts';

/** Milliseconds. */
const DAY_MS = 86_400_000;

/** A warning is logged when these shares of a daily quota are left. */
const WARNINGS = [
  { share: 0.05, label: '5%' },
  { share: 0.01, label: '1%' },
  { share: 0, label: '0%' },
] as const;

interface Day {
  /** Days since 1970, UTC. */
  readonly day: number;
  readonly messages: Record<Cause, number>;
  /** The part of `messages` that `unsaved()` has not returned yet. */
  readonly unsaved: Record<Cause, number>;
  /** The part of `messages` that is in another loop's figures. */
  readonly elsewhere: Record<Cause, number>;
  warned: number;
}

/** The usage of one app on one day. */
export interface DayUsage {
  readonly appId: string;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  /** All messages. */
  readonly messages: number;
  /** The part of `messages` that clients caused. */
  readonly clientMessages: number;
}

/** How several loops enforce quotas and rates together. */
export interface SharedUsage {
  /** Collects what the other loops must know. */
  readonly unshared: UnsharedUsage;
  /** Whether this loop logs the quota warnings. */
  readonly warns: boolean;
  /**
   * Whether this loop includes the usage before a restart in its figures, so that the figures of all loops add up.
   */
  readonly isFirst: boolean;
}

export interface UsageOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  /** For a loop that is one of several. */
  readonly shared?: SharedUsage | undefined;
}

/**
 * Counts the messages of each app per day, and enforces its daily quota and its request rates.
 *
 * A trigger counts one message (two with `info`), each delivery to a connection one, and each webhook event one.
 * Triggers and their deliveries are charged to the backend; client events, member events, replayed cached events and
 * webhook events to clients. Source: the precedence table of the Channels protocol, and §14.4.
 */
export class Usage {
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly meter: Meter;
  private readonly days = new Map<string, Day>();
  /** Usage of past days that `unsaved()` has not returned yet. */
  private past: DayUsage[] = [];
  private readonly buckets: Record<RatedRequest, Map<string, TokenBucket>> = {
    triggers: new Map(),
    queries: new Map(),
  };
  private readonly shared: SharedUsage | undefined;

  constructor({ clock, log, meter, shared }: UsageOptions) {
    this.clock = clock;
    this.log = log;
    this.meter = meter;
    this.shared = shared;
  }

  /** Continues from the usage before a restart. */
  restore(usage: readonly DayUsage[]): void {
    for (const { appId, day: text, messages, clientMessages } of usage) {
      if (text !== dayText(this.today())) continue;
      const day = this.dayOf(appId);
      const restored = { backend: messages - clientMessages, clients: clientMessages };
      add(day.messages, restored);
      if (this.shared?.isFirst === false) add(day.elsewhere, restored);
    }
  }

  /** Counts messages that are sent in any case: deliveries, webhook events. */
  charge(app: App, messages: number, cause: Cause): void {
    if (messages === 0) return;
    const day = this.dayOf(app.id);
    day.messages[cause] += messages;
    day.unsaved[cause] += messages;
    this.shared?.unshared.countMessages(app.id, day.day, { [cause]: messages });
    const { messagesPerDay } = app.limits;
    if (cause === 'clients' || messagesPerDay === 0) return;
    this.shared?.unshared.checkQuota(app.id, messagesPerDay - day.messages.backend);
    this.warn(app, day);
  }

  /** Counts what another loop has taken. That loop stores it. */
  chargeTaken(app: App, { day: takenOn, messages, requests }: TakenUsage): void {
    const day = this.dayOf(app.id);
    if (takenOn === day.day) {
      add(day.messages, messages);
      add(day.elsewhere, messages);
      this.warn(app, day);
    }
    this.chargeBucket(app, 'triggers', requests.triggers);
    this.chargeBucket(app, 'queries', requests.queries);
  }

  /** Today's messages on all loops, as far as this loop knows. */
  knownOf(app: App): Readonly<Record<Cause, number>> {
    return { ...this.dayOf(app.id).messages };
  }

  /** Sets the tokens that all loops together have left for a kind of request. */
  setLeft(app: App, kind: RatedRequest, left: number): void {
    if (limitOf(app, kind) > 0) this.chargeBucket(app, kind, this.leftOf(app, kind) - left);
  }

  /** Logs the warnings for thresholds between two sums of backend messages. */
  warnBetween(app: App, before: number, after: number): void {
    const { messagesPerDay } = app.limits;
    if (messagesPerDay === 0) return;
    for (const { share, label } of WARNINGS) {
      const limit = messagesPerDay * (1 - share);
      if (before < limit && after >= limit) this.warnThat(app, label, after);
    }
  }

  /** Counts the messages of a request; `false`, and nothing counted, if they exceed the quota. */
  take(app: App, messages: number): boolean {
    const { messagesPerDay } = app.limits;
    if (messagesPerDay > 0) {
      const used = this.dayOf(app.id).messages.backend;
      if (used + messages > messagesPerDay) return false;
    }
    this.charge(app, messages, 'backend');
    return true;
  }

  /** Takes events from the app's trigger rate, minus those `taken` before; `false` if too few are left. */
  takeTriggers(app: App, events: number, taken = 0): boolean {
    const { triggersPerSecond } = app.limits;
    // A bucket never holds more than one second's worth.
    const wanted = Math.min(events, triggersPerSecond) - taken;
    return wanted <= 0 || this.takeFrom(app, 'triggers', wanted);
  }

  /** Charges a trigger for its cost beyond its events. */
  chargeTriggers(app: App, events: number): void {
    if (events > 0) this.chargeBeyond(app, 'triggers', events);
  }

  /** Takes one query from the app's query rate; `false` if none is left. */
  takeQuery(app: App): boolean {
    return this.takeFrom(app, 'queries', 1);
  }

  /** Charges a query for its cost beyond one. */
  chargeQueries(app: App, queries: number): void {
    this.chargeBeyond(app, 'queries', queries);
  }

  /** Today's messages in the figures of this loop. Those of all loops add up. */
  todayOf(app: App): Readonly<Record<Cause, number>> {
    const { messages, elsewhere } = this.dayOf(app.id);
    return {
      backend: messages.backend - elsewhere.backend,
      clients: messages.clients - elsewhere.clients,
    };
  }

  /** Returns the usage since the last call, to be stored. */
  unsaved(): readonly DayUsage[] {
    const unsaved = this.past;
    this.past = [];
    for (const [appId, day] of this.days) {
      if (hasUnsaved(day)) {
        unsaved.push(unsavedOf(appId, day));
        day.unsaved.backend = 0;
        day.unsaved.clients = 0;
      } else if (day.day !== this.today()) {
        this.days.delete(appId);
      }
    }
    return unsaved;
  }

  /** Forgets a deleted app, so that the next app with its id begins with nothing. */
  forget(appId: string): void {
    this.days.delete(appId);
    this.past = this.past.filter((one) => one.appId !== appId);
    for (const buckets of Object.values(this.buckets)) buckets.delete(appId);
  }

  private takeFrom(app: App, kind: RatedRequest, requests: number): boolean {
    const limit = limitOf(app, kind);
    if (limit === 0) return true;
    const isTaken = this.bucketOf(app, kind).take(perSecond(limit), this.clock.now(), requests);
    if (isTaken) this.shared?.unshared.countRequests(app.id, kind, { requests, limit });
    return isTaken;
  }

  /** Charges an accepted request for its cost beyond 1. */
  private chargeBeyond(app: App, kind: RatedRequest, requests: number): void {
    const bucket = this.buckets[kind].get(app.id);
    if (bucket === undefined) return;
    bucket.charge(requests);
    this.shared?.unshared.countRequests(app.id, kind, { requests, limit: limitOf(app, kind) });
  }

  private chargeBucket(app: App, kind: RatedRequest, requests: number): void {
    const limit = limitOf(app, kind);
    if (limit === 0 || requests === 0) return;
    // Refill first: what has come in since the last request must not pay for this one.
    this.leftOf(app, kind);
    this.bucketOf(app, kind).charge(requests);
  }

  private leftOf(app: App, kind: RatedRequest): number {
    return this.bucketOf(app, kind).left(perSecond(limitOf(app, kind)), this.clock.now());
  }

  /** Only called for a limited rate. */
  private bucketOf(app: App, kind: RatedRequest): TokenBucket {
    const buckets = this.buckets[kind];
    let bucket = buckets.get(app.id);
    if (bucket === undefined) {
      bucket = new TokenBucket(perSecond(limitOf(app, kind)), this.clock.now());
      buckets.set(app.id, bucket);
    }
    return bucket;
  }

  /** Days since 1970, UTC. */
  today(): number {
    return Math.floor(this.clock.now() / DAY_MS);
  }

  private dayOf(appId: string): Day {
    const today = this.today();
    let day = this.days.get(appId);
    if (day === undefined) {
      day = dayBegun(today);
      this.days.set(appId, day);
    } else if (day.day !== today) {
      if (hasUnsaved(day)) this.past.push(unsavedOf(appId, day));
      day = dayBegun(today);
      this.days.set(appId, day);
    }
    return day;
  }

  private warn(app: App, day: Day): void {
    const { messagesPerDay } = app.limits;
    if (messagesPerDay === 0 || this.shared?.warns === false) return;
    for (let next = WARNINGS[day.warned]; next !== undefined; next = WARNINGS[day.warned]) {
      if (day.messages.backend < messagesPerDay * (1 - next.share)) return;
      day.warned++;
      this.warnThat(app, next.label, day.messages.backend);
    }
  }

  private warnThat(app: App, left: (typeof WARNINGS)[number]['label'], used: number): void {
    this.meter.count('quotaWarnings', 1, left);
    const quota = app.limits.messagesPerDay;
    app.tap?.record({
      kind: 'quota',
      reason: `${left} of the daily quota of messages is left: ${used} of ${quota} are used`,
      advice: 'Raise `limits.messagesPerDay` of the app, or send less.',
    });
    this.log.warn('Daily quota of messages', { app: app.id, left, used, quota });
  }
}

/** Per second; 0: no limit. */
function limitOf({ limits }: App, kind: RatedRequest): number {
  return kind === 'triggers' ? limits.triggersPerSecond : limits.queriesPerSecond;
}

function dayBegun(day: number): Day {
  return {
    day,
    messages: { backend: 0, clients: 0 },
    unsaved: { backend: 0, clients: 0 },
    elsewhere: { backend: 0, clients: 0 },
    warned: 0,
  };
}

function add(sums: Record<Cause, number>, messages: Readonly<Record<Cause, number>>): void {
  sums.backend += messages.backend;
  sums.clients += messages.clients;
}

function hasUnsaved({ unsaved }: Day): boolean {
  return unsaved.backend > 0 || unsaved.clients > 0;
}

function unsavedOf(appId: string, { day, unsaved }: Day): DayUsage {
  const { backend, clients } = unsaved;
  return { appId, day: dayText(day), messages: backend + clients, clientMessages: clients };
}

function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
