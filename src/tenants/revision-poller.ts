import { messageOf } from '../runtime/error-code.ts';
import type { Log } from '../runtime/ports.ts';

const POLL_INTERVAL_MS = 500;

export interface RevisionPollerOptions<Found> {
  /** What is polled, for the log. */
  readonly what: string;
  /** Grows with each change in the store. */
  readonly revision: () => Promise<number>;
  readonly read: () => Promise<Found>;
  /** Applies what was read. If it throws, it is called again at the next poll. */
  readonly changed: (found: Found) => void;
  /** Reports whether the store could be read: `undefined`, or the error. Returns whether that has changed. */
  readonly storeState: (error: unknown) => boolean;
  readonly log: Log;
}

/** Follows something in the store that other processes change too, such as the command line. */
export class RevisionPoller<Found> implements AsyncDisposable {
  private readonly options: RevisionPollerOptions<Found>;
  /** The revision that was read last. */
  private known = -1;
  /** Whether `changed` has applied what was read last. */
  private isTakenOver = false;
  /** The revision that `changed` failed on: the error is logged once. */
  private failed = -1;
  private timer: NodeJS.Timeout | undefined;
  /** Polls run one after the other. */
  private polling: Promise<void> = Promise.resolve();
  private ended = false;

  constructor(options: RevisionPollerOptions<Found>) {
    this.options = options;
  }

  /** Reads for the first time. Throws what the store throws. */
  async readFirst(): Promise<Found> {
    const found = await this.read();
    this.isTakenOver = true;
    return found;
  }

  /** Polls from now on, twice a second. */
  start(): void {
    if (this.ended) return;
    this.timer = setTimeout(async () => {
      await this.poll();
      this.start();
    }, POLL_INTERVAL_MS);
  }

  /** Polls now. Settles when a change has been applied. */
  poll(): Promise<void> {
    return this.enqueue(false);
  }

  /** Reads now, even if the store has not changed. */
  readAgain(): Promise<void> {
    return this.enqueue(true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.polling;
  }

  private enqueue(always: boolean): Promise<void> {
    this.polling = this.polling.then(() => this.pollOnce(always));
    return this.polling;
  }

  private async pollOnce(always: boolean): Promise<void> {
    const { what, revision, changed, storeState, log } = this.options;
    if (always) this.isTakenOver = false;
    let found: Found;
    try {
      if ((await revision()) !== this.known) this.isTakenOver = false;
      if (this.isTakenOver) return void storeState(undefined);
      found = await this.read();
      storeState(undefined);
    } catch (error) {
      if (storeState(error)) log.error('The store cannot be read', { what, why: messageOf(error) });
      return;
    }
    try {
      changed(found);
      this.isTakenOver = true;
    } catch (error) {
      if (this.failed === this.known) return;
      this.failed = this.known;
      log.error('A change in the store is not served yet', { what, why: messageOf(error) });
    }
  }

  private async read(): Promise<Found> {
    const { revision, read } = this.options;
    // The revision first: a change between the two statements is then read twice instead of missed.
    const now = await revision();
    // If the store was emptied or replaced by an older copy, the server must keep what it serves.
    if (now < this.known)
      throw new Error('the store has gone back to an earlier state; restart the server');
    const found = await read();
    this.known = now;
    return found;
  }
}
