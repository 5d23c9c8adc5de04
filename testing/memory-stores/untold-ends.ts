import {
  hasEndToTell,
  TOLD_WITHIN_MS,
  type UntoldEnd,
  type UntoldEnds,
} from '../../src/push/pending-completion-events.ts';
import type { MemoryPublishes } from './publishes.ts';

/** The ends that may not have been told, in memory, as the simplest thing that keeps the contract. */
export class MemoryUntoldEnds implements UntoldEnds {
  private readonly publishes: MemoryPublishes;
  private readonly removed = new Set<number>();
  /** Until when those are somebody's that were claimed. */
  private readonly claimedUntilMs = new Map<number, number>();

  constructor(publishes: MemoryPublishes) {
    this.publishes = publishes;
  }

  async finishedAtMs(publish: number): Promise<number | undefined> {
    return this.all().find((end) => end.publish.number === publish)?.finishedAtMs;
  }

  async claim(nowMs: number, untilMs: number, most: number): Promise<readonly UntoldEnd[]> {
    const claimed = this.all()
      .filter((end) => this.readyAtMs(end) <= nowMs)
      .sort((a, b) => this.readyAtMs(a) - this.readyAtMs(b) || byNumber(a, b))
      .slice(0, most);
    for (const { publish } of claimed) this.claimedUntilMs.set(publish.number, untilMs);
    return claimed.sort((a, b) => a.finishedAtMs - b.finishedAtMs || byNumber(a, b));
  }

  async remove(publish: number): Promise<void> {
    this.removed.add(publish);
  }

  private all(): UntoldEnd[] {
    return this.publishes.all().flatMap(({ number, publish, dueAtMs, over }) => {
      const { id, instance, target, body, createdAtMs } = publish;
      if (over?.state !== 'finished' || this.removed.has(number)) return [];
      if (!hasEndToTell(target.kind, body)) return [];
      const whole = { number, id, instance, kind: target.kind, body, createdAtMs, dueAtMs };
      return [{ publish: whole, finishedAtMs: over.atMs }];
    });
  }

  private readyAtMs({ publish, finishedAtMs }: UntoldEnd): number {
    return this.claimedUntilMs.get(publish.number) ?? finishedAtMs + TOLD_WITHIN_MS;
  }
}

function byNumber(a: UntoldEnd, b: UntoldEnd): number {
  return a.publish.number - b.publish.number;
}
