import type { MaybePromise } from '../../channels/maybe-promise.ts';
import type { Timers } from '../../runtime/ports.ts';
import type { RedisLink } from './redis-link.ts';

/** How long a stream is still followed after its last topic was released: clients often return. */
const LINGER_MS = 5000;

interface Followed {
  /** Settles when Redis has confirmed it. */
  waiting: Promise<void> | undefined;
  cancelLinger: (() => void) | undefined;
}

/** The streams of one Redis server that this loop follows. */
export class Follows {
  private readonly streams = new Map<string, Followed>();
  private readonly link: RedisLink;
  private readonly timers: Timers;

  constructor(link: RedisLink, timers: Timers) {
    this.link = link;
    this.timers = timers;
  }

  /** Follows a stream. Returns in the same turn if it is followed already. */
  follow(stream: string): MaybePromise<void> {
    const known = this.streams.get(stream);
    if (known !== undefined) {
      known.cancelLinger?.();
      known.cancelLinger = undefined;
      return known.waiting;
    }
    const followed: Followed = { waiting: undefined, cancelLinger: undefined };
    followed.waiting = this.link.subscriptions.follow(stream).then(() => {
      followed.waiting = undefined;
    });
    // The waiting callers get the failure.
    followed.waiting.catch(() => this.streams.delete(stream));
    this.streams.set(stream, followed);
    return followed.waiting;
  }

  /** Stops following a stream after a delay. */
  letGo(stream: string): void {
    const followed = this.streams.get(stream);
    if (followed === undefined || followed.cancelLinger !== undefined) return;
    followed.cancelLinger = this.timers.after(LINGER_MS, () => {
      this.streams.delete(stream);
      this.link.subscriptions.unfollow(stream);
    });
  }
}
