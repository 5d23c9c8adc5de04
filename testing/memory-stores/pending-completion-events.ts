import type { ClaimTerms } from '../../src/push/model/delivery.ts';
import {
  COMPLETION_GRACE_MS,
  hasCompletionEvents,
  type PendingCompletionEvent,
  type PendingCompletionEvents,
} from '../../src/push/pending-completion-events.ts';
import type { MemoryPublishes } from './publishes.ts';

/** Pending completion events in memory. */
export class MemoryPendingCompletionEvents implements PendingCompletionEvents {
  private readonly publishes: MemoryPublishes;
  private readonly removed = new Set<number>();
  /** When claims expire. */
  private readonly claimedUntilMs = new Map<number, number>();

  constructor(publishes: MemoryPublishes) {
    this.publishes = publishes;
  }

  async finishedAtMs(publish: number): Promise<number | undefined> {
    return this.all().find((end) => end.publish.number === publish)?.finishedAtMs;
  }

  async claim({ nowMs, untilMs, limit }: ClaimTerms): Promise<readonly PendingCompletionEvent[]> {
    const claimed = this.all()
      .filter((end) => this.readyAtMs(end) <= nowMs)
      .sort((a, b) => this.readyAtMs(a) - this.readyAtMs(b) || byNumber(a, b))
      .slice(0, limit);
    for (const { publish } of claimed) this.claimedUntilMs.set(publish.number, untilMs);
    return claimed.sort((a, b) => a.finishedAtMs - b.finishedAtMs || byNumber(a, b));
  }

  async remove(publish: number): Promise<void> {
    this.removed.add(publish);
  }

  private all(): PendingCompletionEvent[] {
    return this.publishes.all().flatMap(({ number, publish, dueAtMs, over }) => {
      const { id, instance, target, body, createdAtMs } = publish;
      if (over?.state !== 'finished' || this.removed.has(number)) return [];
      if (!hasCompletionEvents(target.kind, body)) return [];
      const whole = { number, id, instance, kind: target.kind, body, createdAtMs, dueAtMs };
      return [{ publish: whole, finishedAtMs: over.atMs }];
    });
  }

  private readyAtMs({ publish, finishedAtMs }: PendingCompletionEvent): number {
    const gaveWay = this.publishes.byNumber(publish.number)?.over?.gaveWay === true;
    const readyAtMs = gaveWay ? finishedAtMs : finishedAtMs + COMPLETION_GRACE_MS;
    return this.claimedUntilMs.get(publish.number) ?? readyAtMs;
  }
}

function byNumber(a: PendingCompletionEvent, b: PendingCompletionEvent): number {
  return a.publish.number - b.publish.number;
}
