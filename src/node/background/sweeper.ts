/** Milliseconds between two pieces, so that what clients wait for gets its turn. */
const PAUSE_MS = 5;

/** Milliseconds until it is looked again whether there is something. */
const REST_MS = 5000;

export interface SweeperOptions {
  /** Takes a small piece away; tells whether more may be left. */
  readonly sweepSome: (nowMs: number) => Promise<boolean>;
  /** The store could not be asked. */
  readonly storeFailed: (error: unknown) => void;
  readonly now: () => number;
}

/** Takes away what nobody can see any more, piece by piece, for as long as the server runs. */
export class Sweeper implements AsyncDisposable {
  private readonly options: SweeperOptions;
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> = Promise.resolve();
  private ended = false;

  constructor(options: SweeperOptions) {
    this.options = options;
    this.later(REST_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.sweeping;
  }

  private later(delayMs: number): void {
    if (this.ended) return;
    this.timer = setTimeout(() => {
      this.sweeping = this.sweep();
    }, delayMs);
  }

  private async sweep(): Promise<void> {
    const { sweepSome, storeFailed, now } = this.options;
    try {
      this.later((await sweepSome(now())) ? PAUSE_MS : REST_MS);
    } catch (error) {
      // What is left stays where it is until the store works again.
      storeFailed(error);
      this.later(REST_MS);
    }
  }
}
