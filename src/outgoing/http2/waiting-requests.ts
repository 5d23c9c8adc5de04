import { type Sender, SenderQueue } from '../../runtime/fairness/sender-queue.ts';
import type { Exchange } from './exchange.ts';

/** Requests that wait for a connection: first those that a peer refused, then the others in fair order. */
export class WaitingRequests {
  private readonly refused: Exchange[] = [];
  private readonly queue = new SenderQueue<Exchange>();
  /** The sender of requests that name none. */
  private readonly defaultSender: Sender = { owner: this, isTrusted: true };

  get size(): number {
    return this.refused.length + this.queue.size;
  }

  /** Whether any of them is to go before untrusted requests. */
  get hasTrusted(): boolean {
    return this.refused.length > 0 || this.queue.hasTrusted;
  }

  add(exchange: Exchange): void {
    this.queue.add(exchange, exchange.request.sender ?? this.defaultSender);
  }

  /** Adds a request that was sent before, in front. */
  addRefused(exchange: Exchange): void {
    this.refused.push(exchange);
  }

  take(mayBeUntrusted = true): Exchange | undefined {
    return this.refused.shift() ?? this.queue.take(mayBeUntrusted);
  }

  takeOverdue(nowMs: number): readonly Exchange[] {
    if (this.size === 0) return [];
    const isOverdue = (exchange: Exchange) => exchange.deadlineMs <= nowMs;
    const refused = this.refused.splice(0);
    this.refused.push(...refused.filter((exchange) => !isOverdue(exchange)));
    return [...refused.filter(isOverdue), ...this.queue.takeMatching(isOverdue)];
  }
}
