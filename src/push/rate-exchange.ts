import type { Timers } from '../runtime/ports.ts';
import type { Rate } from '../runtime/rates/token-bucket.ts';
import { Poller } from '../runtime/time/poller.ts';

/** A rate of one instance. */
export interface InstanceRate {
  readonly kind: string;
  readonly instance: number;
}

/** Tokens that a server has taken. */
export interface TakenTokens extends InstanceRate {
  readonly tokens: number;
}

/** What all servers have taken of the rates that they share. */
export interface RateStore {
  /** Adds to what this server has taken. */
  add(taken: readonly TakenTokens[], nowMs: number): Promise<void>;
  /** What each other server has ever taken of the rates of these instances. */
  takenElsewhere(
    instances: readonly number[],
  ): Promise<readonly (TakenTokens & { readonly server: string })[]>;
}

/** The buckets of one kind, by instance. */
export interface RateBuckets {
  charge(instance: number, rate: Rate, nowMs: number, tokens: number): void;
}

/** Reports what was taken from the bucket of an instance. */
export type ReportTaken = (instance: number, rate: Rate, tokens: number) => void;

/** Makes servers share the rates of a kind. */
export type ShareRate = (kind: string, buckets: RateBuckets) => ReportTaken;

/** For the only server of its store. */
export const unshared: ShareRate = () => () => undefined;

/** How often servers exchange what they have taken. */
const EXCHANGE_MS = 250;

/** The part of one second's tokens that is worth a report. */
const WORTH_REPORTING = 1 / 20;

/** A rate is dropped if less than that was taken from it within this time. */
const QUIET_MS = 10_000;

/** After a longer gap between two exchanges, what others took in that time is not charged: it is too long ago. */
const GAP_MS = 2_000;

/** Rates that are exchanged at the same time. Of more, each server counts its own. */
const RATES_MAX = 10_000;

export interface RateExchangeOptions {
  readonly store: RateStore;
  /** With the clock of the buckets. */
  readonly timers: Timers;
  readonly storeFailed: (error: unknown) => void;
}

interface SharedRate extends InstanceRate {
  readonly buckets: RateBuckets;
  rate: Rate;
  /** Tokens that the store does not know of. */
  unreported: number;
  /** When it was last reported, or else first taken from. */
  sinceMs: number;
  hasReported: boolean;
  /** By server: what it had taken at the last exchange. */
  elsewhere: Map<string, number> | undefined;
  exchangedAtMs: number;
}

/**
 * Makes rates of instances hold for the sum of all servers on one store. A server takes tokens from buckets of its own,
 * reports them four times a second, and charges its buckets with what the others report. So within a quarter of a
 * second, each server may let pass what one bucket holds; over a longer time, the sum keeps the rate. Servers whose
 * instances are far from their limits exchange nothing.
 */
export class RateExchange implements AsyncDisposable {
  private readonly options: RateExchangeOptions;
  private readonly rates = new Map<string, SharedRate>();
  private readonly exchanging: Poller;

  constructor(options: RateExchangeOptions) {
    this.options = options;
    this.exchanging = new Poller(options.timers, () => this.exchange());
  }

  readonly share: ShareRate = (kind, buckets) => (instance, rate, tokens) => {
    const key = `${kind} ${instance}`;
    let shared = this.rates.get(key);
    if (shared === undefined) {
      if (this.rates.size >= RATES_MAX) return;
      shared = {
        kind,
        instance,
        buckets,
        rate,
        unreported: 0,
        sinceMs: this.options.timers.now(),
        hasReported: false,
        elsewhere: undefined,
        exchangedAtMs: 0,
      };
      this.rates.set(key, shared);
    }
    shared.rate = rate;
    shared.unreported += tokens;
    this.exchanging.wakeLater(EXCHANGE_MS);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.exchanging.stop();
  }

  private async exchange(): Promise<number> {
    const { store, timers, storeFailed } = this.options;
    try {
      const taken = this.takeReports();
      if (taken.length > 0) await store.add(taken, timers.now());
      const instances = this.activeInstances();
      if (instances.length > 0) this.chargeAll(await store.takenElsewhere(instances));
    } catch (error) {
      // What was not reported is not reported again: the store may have counted it.
      storeFailed(error);
    }
    return this.rates.size > 0 ? EXCHANGE_MS : Number.POSITIVE_INFINITY;
  }

  private takeReports(): readonly TakenTokens[] {
    const nowMs = this.options.timers.now();
    const reports: TakenTokens[] = [];
    for (const [key, shared] of this.rates) {
      const { kind, instance, rate, unreported, sinceMs } = shared;
      if (unreported >= Math.max(1, rate.perSecond * WORTH_REPORTING)) {
        reports.push({ kind, instance, tokens: unreported });
        shared.unreported = 0;
        shared.sinceMs = nowMs;
        shared.hasReported = true;
      } else if (nowMs - sinceMs > QUIET_MS || nowMs < sinceMs) {
        this.rates.delete(key);
      }
    }
    return reports;
  }

  private activeInstances(): readonly number[] {
    const active = [...this.rates.values()].filter(({ hasReported }) => hasReported);
    return [...new Set(active.map(({ instance }) => instance))];
  }

  private chargeAll(found: Awaited<ReturnType<RateStore['takenElsewhere']>>): void {
    const nowMs = this.options.timers.now();
    const byRate = Map.groupBy(found, ({ kind, instance }) => `${kind} ${instance}`);
    for (const [key, shared] of this.rates) {
      if (!shared.hasReported) continue;
      const elsewhere = new Map<string, number>();
      let others = 0;
      for (const { server, tokens } of byRate.get(key) ?? []) {
        const before = shared.elsewhere?.get(server) ?? 0;
        // A smaller sum means that the server started anew.
        others += tokens < before ? tokens : tokens - before;
        elsewhere.set(server, tokens);
      }
      const isRecent = shared.elsewhere !== undefined && nowMs - shared.exchangedAtMs <= GAP_MS;
      if (isRecent && others > 0)
        shared.buckets.charge(shared.instance, shared.rate, nowMs, others);
      shared.elsewhere = elsewhere;
      shared.exchangedAtMs = nowMs;
    }
  }
}
