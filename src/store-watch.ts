import type { Log } from './channels/ports.ts';

/** How often the store is asked whether another process has changed something. Milliseconds. */
const LOOK_INTERVAL_MS = 500;

export interface StoreWatchOptions<Found> {
  /** What it is, for the log. */
  readonly what: string;
  /** Grows with each change in the store. */
  readonly revision: () => Promise<number>;
  readonly read: () => Promise<Found>;
  /** It is something else now. */
  readonly changed: (found: Found) => void;
  /** Whether the store could be read; `undefined` where it could, else the error. Gives whether that is news. */
  readonly storeState: (error: unknown) => boolean;
  readonly log: Log;
}

/** Keeps up with something in the store that other processes change as well, such as the command line. */
export class StoreWatch<Found> implements AsyncDisposable {
  private readonly options: StoreWatchOptions<Found>;
  private known = -1;
  private timer: NodeJS.Timeout | undefined;
  /** Looks follow one another, so that the later one knows more. */
  private looking: Promise<void> = Promise.resolve();
  private ended = false;

  constructor(options: StoreWatchOptions<Found>) {
    this.options = options;
  }

  /** Reads for the first time. Throws what the store throws, and where the store is an older one than before. */
  async begin(): Promise<Found> {
    const { revision, read } = this.options;
    // The revision first: a change between the two is then seen again, and not missed.
    const now = await revision();
    // Nobody may be told that what they know does not exist, only because the store was emptied or is an older one.
    if (now < this.known)
      throw new Error('the store has gone back to what it was earlier; restart the server');
    const found = await read();
    this.known = now;
    return found;
  }

  /** Looks for changes from now on: once those who are told of them are there. */
  watch(): void {
    if (this.ended) return;
    this.timer = setTimeout(async () => {
      await this.look();
      this.watch();
    }, LOOK_INTERVAL_MS);
  }

  /** Looks now; settles when the change is handed on. */
  look(): Promise<void> {
    return this.inTurn(false);
  }

  /** Reads now, whether or not the store has changed. */
  readAgain(): Promise<void> {
    return this.inTurn(true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.looking;
  }

  private inTurn(always: boolean): Promise<void> {
    this.looking = this.looking.then(() => this.lookOnce(always));
    return this.looking;
  }

  private async lookOnce(always: boolean): Promise<void> {
    const { what, revision, changed, storeState, log } = this.options;
    try {
      if (always || (await revision()) !== this.known) changed(await this.begin());
      storeState(undefined);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (storeState(error)) log.error('The store cannot be read', { what, why });
    }
  }
}
