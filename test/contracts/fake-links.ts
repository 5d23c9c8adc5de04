import type { ThreadsEngine } from '../../src/engines/threads/engine.ts';
import type { EngineLinks } from '../../src/engines/threads/engine-links.ts';
import { type EngineMessage, isForHome } from '../../src/engines/threads/messages.ts';

interface Posted {
  readonly from: number;
  readonly to: number;
  /** Its place among everything that was posted. */
  readonly ticket: number;
  readonly message: EngineMessage;
}

/** The links of several engines in this thread. What was posted waits until it is delivered. */
export class FakeLinks {
  /** Called when something waits from one loop to another. */
  onSent: (from: number, to: number) => void = () => undefined;
  /** Pairs of loops of which one does not know all apps of the other. */
  readonly apart = new Set<number>();
  private readonly engines: ThreadsEngine[] = [];
  private readonly congested = new Set<number>();
  private waiting: Posted[] = [];
  private tickets = 0;

  get isBusy(): boolean {
    return this.waiting.length > 0;
  }

  open(loop: number, engine: ThreadsEngine): void {
    this.engines[loop] = engine;
  }

  of(loop: number): EngineLinks {
    const send = (to: number, message: EngineMessage) => {
      const isFirst = !this.waiting.some((posted) => posted.from === loop && posted.to === to);
      const ticket = this.tickets++;
      this.waiting.push({ from: loop, to, ticket, message: structuredClone(message) });
      if (isFirst) this.onSent(loop, to);
    };
    const before = () =>
      this.waiting.filter(({ to, message }) => to === loop && isForHome(message));
    return {
      send,
      post: send,
      flush: () => undefined,
      backlog: (to) =>
        this.waiting.filter((posted) => posted.from === loop && posted.to === to).length,
      isBehind: () => before().length > 0,
      catchUp: () => this.hand(before()),
      isCongested: (other) => this.congested.has(other),
      setCongested: (isCongested) =>
        isCongested ? this.congested.add(loop) : this.congested.delete(loop),
      haveSameApps: (other) => this.apart.has(loop) === this.apart.has(other),
    };
  }

  /**
   * Delivers some of what waits from one loop to another, behind what was posted to the home before by others; returns whether
   * there was any.
   */
  deliver(from: number, to: number, messages = Number.POSITIVE_INFINITY): boolean {
    const next = this.waiting.filter((posted) => posted.from === from && posted.to === to);
    const delivered = next.slice(0, messages);
    const last = delivered.findLast(({ message }) => isForHome(message))?.ticket ?? -1;
    const before = this.waiting.filter(
      (posted) => posted.to === to && posted.ticket < last && isForHome(posted.message),
    );
    const all = [...new Set([...before, ...delivered])].sort((a, b) => a.ticket - b.ticket);
    this.hand(all);
    return delivered.length > 0;
  }

  private hand(posted: readonly Posted[]): void {
    const handed = new Set(posted);
    this.waiting = this.waiting.filter((one) => !handed.has(one));
    for (const { from, to, message } of posted) this.engines[to]?.receive(from, message);
    for (const { from, to } of posted) this.engines[to]?.received(from);
  }
}
