import type { Timers } from '../../runtime/ports.ts';
import { pause } from '../../runtime/time/pause.ts';
import { nearChannel } from './near-channel.ts';

/** How many occupied channels are searched. */
export const NEAR_AMONG_MAX = 1_000;

/** The limits of names that wait for a search: of all apps, and of one. Further ones get no suggestion. */
const WAITING_MAX = 12;
export const NEAR_FOR_MAX = 3;

/** The pause between two searches, each of which may hold the loop for tens of milliseconds. */
const PAUSE_MS = 200;

export interface NearSearchOptions {
  readonly timers: Timers;
  /** Lists names of occupied channels, at most `NEAR_AMONG_MAX`. */
  readonly occupied: (appId: string) => Promise<readonly string[]>;
}

/** Finds the channels that were most likely meant by names without subscribers: one search at a time, with pauses. */
export class NearSearch {
  private readonly options: NearSearchOptions;
  private readonly waiting = new Map<string, number>();
  private waitingOfAll = 0;
  private last: Promise<void> = Promise.resolve();

  constructor(options: NearSearchOptions) {
    this.options = options;
  }

  /** Returns suggestions by name. Names without one are left out, also if too many wait for a search. */
  async find(appId: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const before = this.waiting.get(appId) ?? 0;
    const room = Math.min(NEAR_FOR_MAX - before, WAITING_MAX - this.waitingOfAll);
    const searched = names.slice(0, Math.max(0, room));
    if (searched.length === 0) return new Map();
    this.count(appId, searched.length);
    const near = new Map<string, string>();
    try {
      const occupied = await this.options.occupied(appId);
      await Promise.all(
        searched.map((name) =>
          this.inTurn(() => {
            const found = nearChannel(name, occupied);
            if (found !== undefined) near.set(name, found);
          }),
        ),
      );
    } finally {
      this.count(appId, -searched.length);
    }
    return near;
  }

  private inTurn(search: () => void): Promise<void> {
    const done = this.last.then(search);
    this.last = done.then(() => pause(this.options.timers, PAUSE_MS));
    return done;
  }

  private count(appId: string, by: number): void {
    this.waitingOfAll += by;
    const left = (this.waiting.get(appId) ?? 0) + by;
    if (left > 0) this.waiting.set(appId, left);
    else this.waiting.delete(appId);
  }
}
