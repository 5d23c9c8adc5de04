import type { LiveResult } from './model/live.ts';
import type { PublishId } from './model/publish.ts';

/** Stores the results of the live parts of publishes. */
export interface LiveStore {
  /**
   * Stores a result, and lets planning begin, in one commit. Does nothing if there is a result, or if planning has begun
   * without one.
   */
  settleLive(settled: {
    readonly instance: number;
    readonly publish: PublishId;
    readonly result: LiveResult;
    readonly nowMs: number;
  }): Promise<void>;
}
