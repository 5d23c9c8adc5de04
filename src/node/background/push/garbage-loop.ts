import type { Clock } from '../../../runtime/ports.ts';

/** The pause between two pieces, so that requests of clients get their turn. */
const PIECE_PAUSE_MS = 5;

/** The pause after nothing was left to delete. */
const IDLE_PAUSE_MS = 5000;

export interface GarbageLoopOptions {
  /** Deletes a small piece. Returns whether more may be left. */
  readonly collectSome: (nowMs: number) => Promise<boolean>;
  /** Reports that the store could not be used. */
  readonly storeFailed: (error: unknown) => void;
  /** The clock by which stored rows become too old. */
  readonly clock: Clock;
}

/** Deletes unreachable rows, piece by piece, for as long as the server runs. */
export class GarbageLoop implements AsyncDisposable {
  private readonly options: GarbageLoopOptions;
  private timer: NodeJS.Timeout | undefined;
  private collecting: Promise<void> = Promise.resolve();
  private ended = false;

  constructor(options: GarbageLoopOptions) {
    this.options = options;
    this.schedule(IDLE_PAUSE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.collecting;
  }

  private schedule(delayMs: number): void {
    if (this.ended) return;
    this.timer = setTimeout(() => {
      this.collecting = this.collect();
    }, delayMs);
  }

  private async collect(): Promise<void> {
    const { collectSome, storeFailed, clock } = this.options;
    try {
      this.schedule((await collectSome(clock.now())) ? PIECE_PAUSE_MS : IDLE_PAUSE_MS);
    } catch (error) {
      storeFailed(error);
      this.schedule(IDLE_PAUSE_MS);
    }
  }
}
