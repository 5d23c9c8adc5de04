import type { Timers } from '../../runtime/ports.ts';

export interface SilenceOptions {
  readonly timers: Timers;
  /** Without a message for so long, the server is asked for one. Milliseconds. */
  readonly activityMs: number;
  /** How long its answer may take. Milliseconds. */
  readonly pongMs: number;
  readonly ping: () => void;
  /** Called once if no answer comes, with how long nothing was heard. Milliseconds. */
  readonly onSilent: (silentMs: number) => void;
}

/** Long enough to read what has arrived. Milliseconds. */
const READ_MS = 100;

/** Finds out that a link has become silent, as the libraries of clients do: no end of such a connection ever comes. */
export class Silence implements Disposable {
  private readonly options: SilenceOptions;
  private heardAtMs: number;
  private cancel: () => void;

  constructor(options: SilenceOptions) {
    this.options = options;
    this.heardAtMs = options.timers.now();
    this.cancel = this.look(options.activityMs);
  }

  /** Called with each message. */
  heard(): void {
    this.heardAtMs = this.options.timers.now();
  }

  [Symbol.dispose](): void {
    this.cancel();
  }

  private look(afterMs: number): () => void {
    const { timers, activityMs, pongMs, ping, onSilent } = this.options;
    return timers.after(afterMs, () => {
      const leftMs = this.heardAtMs + activityMs - timers.now();
      if (leftMs > 0) {
        this.cancel = this.look(leftMs);
        return;
      }
      const askedAtMs = timers.now();
      ping();
      const judge = () => {
        if (this.heardAtMs >= askedAtMs) this.cancel = this.look(activityMs);
        else onSilent(timers.now() - this.heardAtMs);
      };
      // If this process itself was too busy, the answer is there, and is read first.
      this.cancel = timers.after(pongMs, () => {
        this.cancel = timers.after(READ_MS, judge);
      });
    });
  }
}
