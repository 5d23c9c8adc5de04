import type { MaybePromise } from '../../../channels/maybe-promise.ts';
import { PushRefusal } from '../../../push/refusal.ts';
import { StoreBusy, StoreLost } from '../../../push/store-faults.ts';
import type { PushAnswer } from '../call.ts';

/** What is known of the store, and whom to tell of it. */
export interface StoreState {
  /**
   * Why the store cannot be used, in words for everybody; `undefined` where it can. As long as there is a reason,
   * the endpoints do not ask the store: whoever gave it finds out when it is over.
   */
  readonly storeFault: () => string | undefined;
  /** A question to the store failed. */
  readonly storeFailed: (error: unknown) => void;
  /** A question to the store was answered. */
  readonly storeWorked: () => void;
}

/** Seconds after which it is worth asking again. SDKs of devices do not look at it. */
const RETRY_AFTER_SECONDS = 5;

/**
 * Asks the store, and makes its faults answers. Nobody is told that something does not exist while the store
 * cannot be read: every device in the field would register again. Source: push protocol, §3.7.
 */
export class StoreGuard {
  private readonly state: StoreState;

  constructor(state: StoreState) {
    this.state = state;
  }

  /** Asks, and goes on with what was found. What `answer` throws is not the store's fault, and is thrown on. */
  async ask<T, Answer extends PushAnswer | undefined>(
    question: () => Promise<T>,
    answer: (found: T) => MaybePromise<Answer>,
  ): Promise<Answer | PushRefusal> {
    const away = this.away();
    if (away !== undefined) return away;
    let found: T;
    try {
      found = await question();
    } catch (error) {
      // What it was goes to the operator. The reason, if it is now known, is for everybody.
      this.state.storeFailed(error);
      const isKnown = error instanceof StoreLost || error instanceof StoreBusy;
      return this.away() ?? unavailable(isKnown ? error.message : 'it did not answer');
    }
    this.state.storeWorked();
    return answer(found);
  }

  /** Why an instance is not served: the store may have one that was not read. */
  noInstance(): PushRefusal {
    return this.away() ?? NO_INSTANCE;
  }

  /** Why nothing can be asked now. */
  away(): PushRefusal | undefined {
    const fault = this.state.storeFault();
    return fault === undefined ? undefined : unavailable(fault);
  }
}

const NO_INSTANCE = new PushRefusal('instance-not-found', 'Could not find the instance');

function unavailable(why: string): PushRefusal {
  return new PushRefusal('store', `The store cannot be used now: ${why}`, RETRY_AFTER_SECONDS);
}
