import { type Sender, SenderQueue } from '../../runtime/fairness/sender-queue.ts';

/** Encrypting a message takes about 60 µs, so these take 2 ms. */
const PER_LOOP_TURN = 32;

/**
 * Limits how many messages are encrypted in one turn of the event loop: a thousand at once would delay everything else
 * on this thread. The others follow in later turns, in fair order.
 */
export class EncryptionBudget {
  private left = PER_LOOP_TURN;
  private readonly waiting = new SenderQueue<() => void>();
  private isRefillPlanned = false;

  /** Settles when the message may be encrypted; `undefined`: now. */
  take(sender: Sender): Promise<void> | undefined {
    this.planRefill();
    if (this.left > 0) {
      this.left--;
      return undefined;
    }
    return new Promise((resolve) => {
      this.waiting.add(resolve, sender);
    });
  }

  private planRefill(): void {
    if (this.isRefillPlanned) return;
    this.isRefillPlanned = true;
    setImmediate(() => {
      this.isRefillPlanned = false;
      this.left = PER_LOOP_TURN;
      for (; this.left > 0 && this.waiting.size > 0; this.left--) this.waiting.take()?.();
      if (this.left < PER_LOOP_TURN) this.planRefill();
    });
  }
}
