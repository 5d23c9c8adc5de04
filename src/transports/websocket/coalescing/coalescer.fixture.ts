import { Coalescer } from './coalescer.ts';

/** The coalescer of a loop that is never busy: nothing waits. */
export function idleCoalescer(): Coalescer {
  return new Coalescer({
    now: () => 0,
    busyShare: () => 0,
    after() {
      throw new Error('Nothing waits on an idle loop');
    },
    afterTurn: () => undefined,
  });
}
