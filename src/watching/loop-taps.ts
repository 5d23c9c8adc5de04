import type { Timers } from '../runtime/ports.ts';
import { AppTap, type TapShare } from './app-tap.ts';
import {
  CHARACTERS_PER_TICK,
  COUNTS_TICKS,
  DATA_BYTES,
  RECORDS_PER_TICK,
  type RecordShare,
  TICK_MS,
} from './limits.ts';
import type { AppTick, WatchedApp } from './records.ts';

export interface LoopTapsOptions {
  /** Sets or removes the tap of an app or instance. */
  readonly setTap: (watched: string, tap: AppTap | undefined) => void;
  readonly timers: Timers;
  /** The limit of records per tick, and how many loops share it. */
  readonly share: RecordShare;
  readonly loops: number;
  readonly send: (ticks: readonly AppTick[]) => void;
}

/** The taps of one loop. While nobody watches, there is no timer, and no app has a tap. */
export class LoopTaps {
  private readonly options: LoopTapsOptions;
  private readonly taps = new Map<string, AppTap>();
  /** Unique among all loops of the cluster. */
  private readonly name = crypto.randomUUID().slice(-12);
  private traces = 0;
  private ticks = 0;
  private cancelTick: (() => void) | undefined;

  constructor(options: LoopTapsOptions) {
    this.options = options;
  }

  /** Sets what is watched from now on. */
  watch(apps: readonly WatchedApp[]): void {
    const watched = new Set(apps.map(({ id }) => id));
    for (const appId of this.taps.keys()) {
      if (watched.has(appId)) continue;
      this.taps.delete(appId);
      this.options.setTap(appId, undefined);
    }
    const share = this.shareOf(apps.length);
    for (const { id, filters } of apps) {
      const tap = this.taps.get(id) ?? this.newTap(id);
      tap.filters = filters;
      tap.share = share;
    }
    this.apply();
    if (this.taps.size > 0) this.cancelTick ??= this.tickLater();
    else this.stop();
  }

  /** Attaches the taps to the live objects of their apps, which may have been replaced. */
  apply(): void {
    for (const [appId, tap] of this.taps) this.options.setTap(appId, tap);
  }

  stop(): void {
    this.cancelTick?.();
    this.cancelTick = undefined;
  }

  /** Each app gets the same share, which has room for one event and something else. */
  private shareOf(apps: number): TapShare {
    const { loops, share } = this.options;
    const part = (all: number, least: number) => Math.max(least, Math.floor(all / (loops * apps)));
    return {
      records: part(share.records, 2),
      events: part(share.events, Math.min(1, share.events)),
      characters: part((CHARACTERS_PER_TICK * share.records) / RECORDS_PER_TICK, 2 * DATA_BYTES),
    };
  }

  private newTap(appId: string): AppTap {
    const newTrace = () => `${this.name}${(this.traces++).toString(36)}`;
    const tap = new AppTap({ appId, clock: this.options.timers, loop: this.name, newTrace });
    this.taps.set(appId, tap);
    return tap;
  }

  private tickLater(): () => void {
    return this.options.timers.after(TICK_MS, () => {
      this.cancelTick = this.tickLater();
      this.tick();
    });
  }

  private tick(): void {
    this.ticks++;
    const withCounts = this.ticks % COUNTS_TICKS === 0;
    const ticks = Array.from(this.taps.values(), (tap) => tap.tick(withCounts) ?? []).flat();
    if (ticks.length > 0) this.options.send(ticks);
  }
}
