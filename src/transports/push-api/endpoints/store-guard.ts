import type { MaybePromise } from '../../../channels/maybe-promise.ts';
import { PushRefusal } from '../../../push/refusal.ts';
import { StoreBusy, StoreLost } from '../../../push/store-faults.ts';

/** Whether the store can be used, and where its faults are reported. */
export interface StoreState {
  /**
   * Why the store cannot be used, in a text that any client may read; `undefined` if it can. While there is a reason,
   * the endpoints do not query the store.
   */
  readonly storeFault: () => string | undefined;
  /** A query failed. */
  readonly storeFailed: (error: unknown) => void;
  /** A query succeeded. */
  readonly storeWorked: () => void;
}

/** The SDKs of devices ignore it. */
const RETRY_AFTER_SECONDS = 5;

/**
 * Queries the store, and answers its faults with 503. While the store cannot be read, it never answers that something
 * does not exist: every device would register again. Source: push protocol, §3.7.
 */
export class StoreGuard {
  private readonly state: StoreState;

  constructor(state: StoreState) {
    this.state = state;
  }

  /** Queries the store and passes the result to `answer`. What `answer` throws is not a fault of the store and passes through. */
  async ask<T, Answer>(
    query: () => Promise<T>,
    answer: (found: T) => MaybePromise<Answer>,
  ): Promise<Answer | PushRefusal> {
    const fault = this.unavailable();
    if (fault !== undefined) return fault;
    let found: T;
    try {
      found = await query();
    } catch (error) {
      // The error goes to the operator only. The reason, if known, goes to the client.
      this.state.storeFailed(error);
      const isKnown = error instanceof StoreLost || error instanceof StoreBusy;
      return this.unavailable() ?? refuse(isKnown ? error.message : 'it did not answer');
    }
    this.state.storeWorked();
    return answer(found);
  }

  /** The answer for an unknown instance. If the store cannot be read, the instance may exist. */
  noInstance(): PushRefusal {
    return this.unavailable() ?? NO_INSTANCE;
  }

  /** The refusal while the store cannot be used. */
  unavailable(): PushRefusal | undefined {
    const fault = this.state.storeFault();
    return fault === undefined ? undefined : refuse(fault);
  }
}

const NO_INSTANCE = new PushRefusal('instance-not-found', 'Could not find the instance');

function refuse(why: string): PushRefusal {
  return new PushRefusal('store', `The store cannot be used now: ${why}`, RETRY_AFTER_SECONDS);
}
