import type { HourUsage } from '../../../admin/admin.ts';
import type { DayUsage } from '../../../channels/usage/usage.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Clock, Log, Timers } from '../../../runtime/ports.ts';
import { Recent } from '../../../runtime/recent.ts';
import { every } from '../../../runtime/time/every.ts';
import { PatientClock } from '../../../runtime/time/patient-clock.ts';
import type {
  HourSamples,
  HourSum,
  HourUsageStore,
} from '../../../stores/tenants/hour-usage-store.ts';

const HOUR_MS = 3_600_000;

/** The interval of counting connections. */
const SAMPLE_MS = 10_000;

/**
 * The interval of writing sums. A crash loses the sums of this time, but not the daily message counts, which are
 * stored elsewhere.
 */
const WRITE_MS = 60_000;

/** Hours to keep. */
export const HOURS_KEPT = 14 * 24;

/** The limit of sums that wait while the store cannot be written. The oldest are dropped first. */
const WAITING_MAX = 50_000;

/** How many chunks of old hours are deleted after each write. */
const FORGOTTEN_PIECES = 20;

export interface HourlyUsageOptions {
  readonly store: Pick<HourUsageStore, 'add' | 'addSamples' | 'ofApp' | 'forgetSomeBefore'>;
  /** Counts the open connections of each app that has any, on all servers. */
  readonly countConnections: () => Promise<ReadonlyMap<string, number>>;
  readonly timers: Timers;
  /** A clock that is never set. */
  readonly monotonic: Clock;
  readonly log: Log;
}

/**
 * Adds up the usage of apps by the hour, and writes it to the store every minute. Every server samples the
 * connections on all servers, so samples of several servers, and from before and after a restart, can be combined.
 */
export class HourlyUsage implements AsyncDisposable {
  private readonly options: HourlyUsageOptions;
  /** Sums that are not written yet, by app and hour, oldest first. */
  private readonly waiting = new Recent<string, HourSum>(WAITING_MAX);
  private readonly samples = new Map<number, number>();
  private writing: Promise<void> | undefined;
  private isCounting = false;
  private isFailing = false;
  private forgottenTo = 0;
  private readonly retentionClock: PatientClock;
  private readonly cancel: (() => void)[] = [];

  constructor(options: HourlyUsageOptions) {
    this.options = options;
    const { timers, monotonic } = options;
    this.retentionClock = new PatientClock({ system: timers, monotonic });
  }

  /** Starts counting connections. The realtime loops must be able to answer. */
  start(): void {
    const { timers } = this.options;
    this.cancel.push(every(timers, SAMPLE_MS, () => void this.count()));
    this.cancel.push(every(timers, WRITE_MS, () => void this.write()));
    void this.count();
  }

  /** Adds messages to the current hour. */
  keep(usage: readonly DayUsage[]): void {
    const nowMs = this.options.timers.now();
    for (const { appId, day, messages, clientMessages } of usage) {
      // Shortly after midnight, messages of yesterday may still arrive.
      const endOfDayMs = Date.parse(day) + 24 * HOUR_MS;
      const hour = Math.floor(Math.min(nowMs, endOfDayMs - 1) / HOUR_MS);
      this.add({ ...emptySum(appId, hour), messages, clientMessages });
    }
  }

  /** Forgets what was not written yet of deleted apps. */
  forget(appIds: readonly string[]): void {
    for (const [key, { appId }] of this.waiting) {
      if (appIds.includes(appId)) this.waiting.delete(key);
    }
  }

  /** The last hours of an app in which a server was running, the newest first. */
  async ofApp(appId: string, hours: number): Promise<readonly HourUsage[]> {
    // Usage in a running write is neither in the store nor in the queue.
    await this.writing;
    const since = this.hourNow() - hours + 1;
    const stored = await this.options.store.ofApp(appId, since);
    const sums = new Map(stored.sums.map((sum) => [sum.hour, sum]));
    for (const sum of this.waiting.values()) {
      if (sum.appId !== appId || sum.hour < since) continue;
      sums.set(sum.hour, added(sums.get(sum.hour), sum));
    }
    const samples = new Map(stored.samples.map((one) => [one.hour, one.samples]));
    for (const [hour, number] of this.samples) {
      if (hour >= since) samples.set(hour, (samples.get(hour) ?? 0) + number);
    }
    return [...new Set([...samples.keys(), ...sums.keys()])]
      .toSorted((a, b) => b - a)
      .map((hour) => hourUsage(sums.get(hour) ?? emptySum(appId, hour), samples.get(hour) ?? 0));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cancel of this.cancel) cancel();
    await this.writing;
    await this.write();
  }

  private async count(): Promise<void> {
    if (this.isCounting) return;
    this.isCounting = true;
    try {
      const open = await this.options.countConnections();
      const hour = this.hourNow();
      this.samples.set(hour, (this.samples.get(hour) ?? 0) + 1);
      for (const [appId, connections] of open) {
        if (connections === 0) continue;
        const found = { samples: 1, connections, most: connections, fewest: connections };
        this.add({ ...emptySum(appId, hour), ...found });
      }
    } catch {
      // Without this sample, the hour's value comes from the other samples. The conditions report the cause.
    }
    this.isCounting = false;
  }

  private add(sum: HourSum): void {
    const key = `${sum.hour} ${sum.appId}`;
    this.waiting.set(key, added(this.waiting.get(key), sum));
  }

  private write(): Promise<void> {
    this.writing ??= this.writeNow().finally(() => {
      this.writing = undefined;
    });
    return this.writing;
  }

  private async writeNow(): Promise<void> {
    const { store, log } = this.options;
    const sums = new Set(this.waiting.values());
    const samples = [...this.samples].map(([hour, number]) => ({ hour, samples: number }));
    this.waiting.clear();
    this.samples.clear();
    let unwritten: readonly HourSamples[] = samples;
    try {
      await store.addSamples(samples);
      unwritten = [];
      await store.add([...sums], (piece) => {
        for (const sum of piece) sums.delete(sum);
      });
      await this.forgetOld();
      this.isFailing = false;
    } catch (error) {
      for (const one of unwritten) {
        this.samples.set(one.hour, (this.samples.get(one.hour) ?? 0) + one.samples);
      }
      for (const sum of sums) this.add(sum);
      const why = messageOf(error);
      if (!this.isFailing) log.warn('Usage by the hour cannot be written yet', { why });
      this.isFailing = true;
    }
  }

  private async forgetOld(): Promise<void> {
    const before = Math.floor(this.retentionClock.now() / HOUR_MS) - HOURS_KEPT;
    if (before === this.forgottenTo) return;
    for (let pieces = 0; pieces < FORGOTTEN_PIECES; pieces++) {
      if (await this.options.store.forgetSomeBefore(before)) continue;
      this.forgottenTo = before;
      return;
    }
  }

  private hourNow(): number {
    return Math.floor(this.options.timers.now() / HOUR_MS);
  }
}

/** Adds up the counts of all loops. */
export function addedUp(
  loops: readonly (readonly (readonly [appId: string, open: number])[])[],
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [appId, open] of loops.flat()) sums.set(appId, (sums.get(appId) ?? 0) + open);
  return sums;
}

function emptySum(appId: string, hour: number): HourSum {
  const none = { samples: 0, connections: 0, most: 0, fewest: 0 };
  return { appId, hour, messages: 0, clientMessages: 0, ...none };
}

function added(a: HourSum | undefined, b: HourSum): HourSum {
  if (a === undefined) return b;
  const isEmpty = a.samples === 0 || b.samples === 0;
  return {
    appId: b.appId,
    hour: b.hour,
    messages: a.messages + b.messages,
    clientMessages: a.clientMessages + b.clientMessages,
    samples: a.samples + b.samples,
    connections: a.connections + b.connections,
    most: Math.max(a.most, b.most),
    // 0 if there are no samples.
    fewest: isEmpty ? a.fewest + b.fewest : Math.min(a.fewest, b.fewest),
  };
}

/** `samples`: how often connections were counted in the hour. An app is missing from samples in which it had none. */
function hourUsage(sum: HourSum, samples: number): HourUsage {
  const { hour, messages, clientMessages } = sum;
  const counted = Math.max(samples, sum.samples);
  return {
    startMs: hour * HOUR_MS,
    messages,
    clientMessages,
    connections:
      counted === 0
        ? undefined
        : {
            most: sum.most,
            fewest: sum.samples < counted ? 0 : sum.fewest,
            average: sum.connections / counted,
          },
  };
}
