import type { LogFields, Timers } from '../channels/ports.ts';
import { LOG_PAUSE_MS } from './limits.ts';

/** Things of which one is remembered; beyond it all are forgotten, which costs a few lines more. */
const KEYS_MAX = 1_000;

/** Tells a thing at once, and again only after a minute, with how many times it was kept quiet. */
export class Seldom {
  private readonly timers: Timers;
  private readonly told = new Map<string, { readonly atMs: number; quiet: number }>();

  constructor(timers: Timers) {
    this.timers = timers;
  }

  tell(key: string, say: (quiet: LogFields) => void): void {
    const nowMs = this.timers.now();
    const last = this.told.get(key);
    if (last !== undefined && nowMs - last.atMs < LOG_PAUSE_MS) {
      last.quiet++;
      return;
    }
    if (this.told.size >= KEYS_MAX) this.told.clear();
    this.told.set(key, { atMs: nowMs, quiet: 0 });
    say(last === undefined || last.quiet === 0 ? {} : { notLogged: last.quiet });
  }
}
