import { type Sender, SenderQueue } from '../../runtime/sender-queue.ts';

/** A message takes about 60 µs, so these take 2 ms. */
const PER_TURN = 32;

/**
 * Encrypts a bounded number of messages in one turn of the event loop, and the rest in later turns: a thousand at once
 * would delay everything else on this thread.
 */
export class EncryptionBudget {
  private left = PER_TURN;
  private readonly waiting = new SenderQueue<() => void>();
  private isRefillPlanned = false;

  /** `undefined`: now. */
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
      this.left = PER_TURN;
      for (; this.left > 0 && this.waiting.size > 0; this.left--) this.waiting.take()?.();
      if (this.left < PER_TURN) this.planRefill();
    });
  }
}
