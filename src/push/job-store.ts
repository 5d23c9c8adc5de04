import type {
  AfterJob,
  AfterPart,
  ClaimOptions,
  Job,
  JobResults,
  RetryCursor,
  WaitingRetries,
} from './model/delivery.ts';

/**
 * Keeps jobs: pages to deliver and devices to retry. Each method is one commit, durable when it settles; if it fails
 * without an answer, it may have been done.
 *
 * Each device of each page is in a waiting page, or is counted once in the status of its publish: as accepted,
 * retrying, failed, pruned, expired or cancelled. Settling the same twice changes nothing.
 */
export interface JobStore {
  /**
   * Claims pages and due retries, those due first, fairly: of each instance in turn, and of both kinds. A job of
   * retries has at most `devicesPerJob` devices. It may return fewer jobs than are due: see `WorkClaims.nextDue`.
   */
  claimJobs(wanted: WantedJobs): Promise<readonly Job[]>;
  /**
   * Records the results of a job's devices, except for those that `settlePart` has recorded. Deletes devices whose
   * tokens are dead, and finishes the publish after its last job. If the publish was cancelled, nothing is retried.
   * A page with devices that are due later may be claimed again when they are.
   *
   * An expired claim still counts until another server claims the job, because this may repeat a call whose answer was
   * lost.
   */
  settle(results: JobResults): Promise<AfterJob>;
  /**
   * Records the results of some devices of a job while others are in flight, so that after a crash only the others
   * are sent to again. At least one device must remain. The devices of a job of retries must be those with results.
   * `'stale'`: nothing was recorded, because another server has claimed the job or the publish is gone.
   */
  settlePart(results: JobResults): Promise<AfterPart>;
  /**
   * Makes waiting retries due now, for example because a credential works again. Looks at up to `limit` devices after
   * a cursor, those due first, until `most` of them are made due. Claimed devices are skipped.
   */
  bringForward(change: BringForward): Promise<BroughtForward>;
}

export interface WantedJobs extends ClaimOptions {
  readonly devicesPerJob: number;
}

export interface BringForward {
  readonly waiting: WaitingRetries;
  readonly nowMs: number;
  readonly limit: number;
  /** By default all that match. */
  readonly most?: number | undefined;
  readonly after?: RetryCursor | undefined;
}

export interface BroughtForward {
  /** How many devices are due now. */
  readonly devices: number;
  /** Where to continue; `undefined`: at the end. */
  readonly next: RetryCursor | undefined;
}
