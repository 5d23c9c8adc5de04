import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import type { ChannelPage, ChannelWalk } from '../../channels/ports.ts';
import type { Loop } from '../shares.ts';

/** Returns the page of one home that begins after a position. */
type PageOf = (home: Loop, after: string | undefined, limit: number) => MaybePromise<ChannelPage>;

/** A walk through the channels of one home after the other. A position is the number of the home, and that in it. */
export class ThreadsWalk implements ChannelWalk {
  private readonly loops: number;
  private readonly pageOf: PageOf;
  private home: Loop;
  private position: string | undefined;

  constructor(loops: number, from: string | undefined, pageOf: PageOf) {
    this.loops = loops;
    this.pageOf = pageOf;
    const [home = '0', position = ''] = from?.split(':') ?? [];
    this.home = Number(home);
    this.position = position === '' ? undefined : position;
  }

  page(limit: number): MaybePromise<ChannelPage> {
    if (!(this.home < this.loops)) return { channels: [], next: undefined };
    return after(this.pageOf(this.home, this.position, limit), ({ channels, next }) => {
      this.position = next;
      if (next === undefined) this.home++;
      const isLast = this.home === this.loops;
      return { channels, next: isLast ? undefined : `${this.home}:${next ?? ''}` };
    });
  }
}
