import { messageOf } from '../runtime/error-code.ts';
import type { LogThrottle } from '../runtime/logging/log-throttle.ts';
import type { Log } from '../runtime/ports.ts';
import type { Intake, TakenRequests } from './intake.ts';
import type { Outbox, Settlement } from './outbox.ts';

/** What one commit writes to the outbox. */
interface OutboxCommit extends TakenRequests {
  readonly settled: readonly Settlement[];
}

export interface OutboxWriterOptions {
  readonly outbox: Outbox;
  readonly intake: Pick<Intake, 'take'>;
  readonly log: Log;
  readonly throttle: LogThrottle;
  /** Called after each write: `undefined` if it worked, else the error. */
  readonly storeState: (error: unknown) => void;
}

/**
 * Writes new requests and settlements to the outbox. If the store fails, the commit is kept and retried before
 * anything else, so that nothing is lost.
 */
export class OutboxWriter {
  private readonly options: OutboxWriterOptions;
  private settled: Settlement[] = [];
  private failed: OutboxCommit | undefined;

  constructor(options: OutboxWriterOptions) {
    this.options = options;
  }

  /** Whether the last write failed. */
  get isFailing(): boolean {
    return this.failed !== undefined;
  }

  /** Adds a settlement to the next commit. Returns how many wait for it. */
  settle(settlement: Settlement): number {
    return this.settled.push(settlement);
  }

  /**
   * Writes one commit: the one that failed before, or else everything new. Returns what is now stored; `undefined` if
   * the store failed. Never throws. Must not be called while it is running.
   */
  async write(): Promise<OutboxCommit | undefined> {
    const { outbox, log, throttle, storeState } = this.options;
    const commit = this.failed ?? this.nextCommit();
    const { requests, settled, onStored } = commit;
    if (requests.length + settled.length === 0) {
      for (const stored of onStored) stored();
      return commit;
    }
    try {
      await outbox.write(requests, settled);
    } catch (error) {
      this.failed = commit;
      const why = messageOf(error);
      storeState(error);
      throttle.run('write', (throttled) =>
        log.error('Cannot write webhooks to the store', { why, ...throttled }),
      );
      return undefined;
    }
    this.failed = undefined;
    storeState(undefined);
    for (const stored of onStored) stored();
    return commit;
  }

  private nextCommit(): OutboxCommit {
    const { settled } = this;
    this.settled = [];
    return { ...this.options.intake.take(), settled };
  }
}
