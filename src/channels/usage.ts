import { perSecond, TokenBucket } from '../runtime/token-bucket.ts';
import type { App } from './app.ts';
import type { Clock, Log, Meter } from './ports.ts';

/** Milliseconds. */
const DAY_MS = 86_400_000;

/** How much is left of a daily quota when an operator is warned. */
const WARNINGS = [
  { share: 0.05, label: '5%' },
  { share: 0.01, label: '1%' },
  { share: 0, label: '0%' },
] as const;

interface Day {
  /** Days since 1970, UTC. */
  day: number;
  messages: number;
  /** What of it has not been handed on to be kept. */
  unsaved: number;
  warned: number;
}

/** What one app used on one day. */
export interface DayUsage {
  readonly appId: string;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly messages: number;
}

/**
 * Counts the messages of each app per day, and says when a quota is used up.
 * A request counts one message (two for an event with `info`), each delivery to a connection one, and
 * each webhook event one. Source: the precedence table of the Channels protocol, and §14.4.
 */
export class Usage {
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly meter: Meter;
  private readonly days = new Map<string, Day>();
  /** Of days that are over, and not handed on yet. */
  private past: DayUsage[] = [];
  private readonly triggers = new Map<string, TokenBucket>();

  constructor(clock: Clock, log: Log, meter: Meter) {
    this.clock = clock;
    this.log = log;
    this.meter = meter;
  }

  /** Takes over what was used before a restart. */
  restore(usage: readonly DayUsage[]): void {
    for (const { appId, day, messages } of usage) {
      if (day !== dayText(this.today())) continue;
      this.dayOf(appId).messages += messages;
    }
  }

  /** Counts what happened anyway: deliveries, webhook events. */
  charge(app: App, messages: number): void {
    if (messages === 0) return;
    const day = this.dayOf(app.id);
    day.messages += messages;
    day.unsaved += messages;
    if (app.limits.messagesPerDay > 0) this.warn(app, day);
  }

  /** Counts a request, unless the quota has no room for it: then nothing is counted. */
  take(app: App, messages: number): boolean {
    const { messagesPerDay } = app.limits;
    if (messagesPerDay > 0 && this.dayOf(app.id).messages + messages > messagesPerDay) return false;
    this.charge(app, messages);
    return true;
  }

  /** Whether the app may trigger so many events now, by its rate. */
  takeTriggers(app: App, events: number): boolean {
    const { triggersPerSecond } = app.limits;
    if (triggersPerSecond === 0) return true;
    const rate = perSecond(triggersPerSecond);
    const nowMs = this.clock.now();
    let bucket = this.triggers.get(app.id);
    if (bucket === undefined) {
      bucket = new TokenBucket(rate, nowMs);
      this.triggers.set(app.id, bucket);
    }
    return bucket.take(rate, nowMs, Math.min(events, triggersPerSecond));
  }

  /** Messages of today. */
  todayOf(app: App): number {
    return this.dayOf(app.id).messages;
  }

  /** What was used since the last call, to be kept. */
  unsaved(): readonly DayUsage[] {
    const unsaved = this.past;
    this.past = [];
    for (const [appId, day] of this.days) {
      if (day.unsaved > 0) {
        unsaved.push(unsavedOf(appId, day));
        day.unsaved = 0;
      } else if (day.day !== this.today()) {
        this.days.delete(appId);
      }
    }
    return unsaved;
  }

  private today(): number {
    return Math.floor(this.clock.now() / DAY_MS);
  }

  private dayOf(appId: string): Day {
    const today = this.today();
    let day = this.days.get(appId);
    if (day === undefined) {
      day = { day: today, messages: 0, unsaved: 0, warned: 0 };
      this.days.set(appId, day);
    } else if (day.day !== today) {
      if (day.unsaved > 0) this.past.push(unsavedOf(appId, day));
      day = { day: today, messages: 0, unsaved: 0, warned: 0 };
      this.days.set(appId, day);
    }
    return day;
  }

  private warn(app: App, day: Day): void {
    const { messagesPerDay } = app.limits;
    for (let next = WARNINGS[day.warned]; next !== undefined; next = WARNINGS[day.warned]) {
      if (day.messages < messagesPerDay * (1 - next.share)) return;
      day.warned++;
      this.meter.count('quotaWarnings', 1, next.label);
      this.log.warn('Daily quota of messages', {
        app: app.id,
        left: next.label,
        used: day.messages,
        quota: messagesPerDay,
      });
    }
  }
}

function unsavedOf(appId: string, { day, unsaved }: Day): DayUsage {
  return { appId, day: dayText(day), messages: unsaved };
}

function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
