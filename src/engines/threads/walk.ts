import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import type { ChannelPage, ChannelWalk } from '../../channels/ports.ts';
import type { Loop } from '../shares.ts';

/** Returns the page of one home that begins after a position. */
type PageOf = (home: Loop, after: string | undefined, limit: number) => MaybePromise<ChannelPage>;

/**
 * A walk through the channels, one home after the other. A position is a single number, as with one loop: modulo the
 * number of loops it names the home, and the quotient is the position there.
 */
export class ThreadsWalk implements ChannelWalk {
  private readonly loops: number;
  private readonly pageOf: PageOf;
  private home: Loop;
  private position: string | undefined;

  constructor(loops: number, from: string | undefined, pageOf: PageOf) {
    this.loops = loops;
    this.pageOf = pageOf;
    const position = Number(from ?? 0);
    this.home = position % loops;
    this.position = positionIn(Math.floor(position / loops));
  }

  page(limit: number): MaybePromise<ChannelPage> {
    if (!(this.home < this.loops)) return { channels: [], next: undefined };
    return after(this.pageOf(this.home, this.position, limit), ({ channels, next }) => {
      this.position = next;
      if (next === undefined) this.home++;
      const isLast = this.home === this.loops;
      return {
        channels,
        next: isLast ? undefined : String(Number(next ?? 0) * this.loops + this.home),
      };
    });
  }
}

/** Positions of channels begin at 1. */
function positionIn(position: number): string | undefined {
  return position === 0 ? undefined : String(position);
}
