import type { Log } from '../runtime/ports.ts';

/** How often the store is asked whether another process has changed something. Milliseconds. */
const LOOK_INTERVAL_MS = 500;

export interface RevisionWatchOptions<Found> {
  /** What it is, for the log. */
  readonly what: string;
  /** Grows with each change in the store. */
  readonly revision: () => Promise<number>;
  readonly read: () => Promise<Found>;
  /** Takes over what was read. Where it throws, it is called again at the next look. */
  readonly changed: (found: Found) => void;
  /** Whether the store could be read; `undefined` where it could, else the error. Gives whether that is news. */
  readonly storeState: (error: unknown) => boolean;
  readonly log: Log;
}

/** Keeps up with something in the store that other processes change as well, such as the command line. */
export class RevisionWatch<Found> implements AsyncDisposable {
  private readonly options: RevisionWatchOptions<Found>;
  /** The revision that was read last. */
  private known = -1;
  /** Whether what was read last was also taken over. */
  private isServed = false;
  /** The revision whose taking over has failed: its error is logged once. */
  private unserved = -1;
  private timer: NodeJS.Timeout | undefined;
  /** Looks follow one another, so that the later one knows more. */
  private looking: Promise<void> = Promise.resolve();
  private ended = false;

  constructor(options: RevisionWatchOptions<Found>) {
    this.options = options;
  }

  /** Reads for the first time. Throws what the store throws, and where the store is an older one than before. */
  async begin(): Promise<Found> {
    const found = await this.read();
    this.isServed = true;
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
    if (always) this.isServed = false;
    let found: Found;
    try {
      if ((await revision()) !== this.known) this.isServed = false;
      if (this.isServed) return void storeState(undefined);
      found = await this.read();
      storeState(undefined);
    } catch (error) {
      if (storeState(error)) log.error('The store cannot be read', { what, why: messageOf(error) });
      return;
    }
    try {
      changed(found);
      this.isServed = true;
    } catch (error) {
      if (this.unserved === this.known) return;
      this.unserved = this.known;
      log.error('A change in the store is not served yet', { what, why: messageOf(error) });
    }
  }

  private async read(): Promise<Found> {
    const { revision, read } = this.options;
    // The revision first: a change between the two is then seen again, and not missed.
    const now = await revision();
    // An emptied or older store must not make the server forget what it serves.
    if (now < this.known)
      throw new Error('the store has gone back to what it was earlier; restart the server');
    const found = await read();
    this.known = now;
    return found;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
