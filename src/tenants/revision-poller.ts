import { messageOf } from '../runtime/error-code.ts';
import { Mutex } from '../runtime/mutex.ts';
import type { Log, Timers } from '../runtime/ports.ts';
import { Poller } from '../runtime/time/poller.ts';

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
  readonly timers: Timers;
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
  /** Polls run one after the other. */
  private readonly turns = new Mutex();
  private readonly poller: Poller;

  constructor(options: RevisionPollerOptions<Found>) {
    this.options = options;
    this.poller = new Poller(options.timers, async () => {
      await this.poll();
      return POLL_INTERVAL_MS;
    });
  }

  /** Reads for the first time. Throws what the store throws. */
  async readFirst(): Promise<Found> {
    const found = await this.read();
    this.isTakenOver = true;
    return found;
  }

  /** Polls from now on, twice a second. */
  start(): void {
    this.poller.wakeLater(POLL_INTERVAL_MS);
  }

  /** Polls now. Settles when a change has been applied. */
  poll(): Promise<void> {
    return this.turns.run(() => this.pollOnce(false));
  }

  /** Reads now, even if the store has not changed. */
  readAgain(): Promise<void> {
    return this.turns.run(() => this.pollOnce(true));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.poller.stop();
    await this.turns.run(async () => undefined);
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
