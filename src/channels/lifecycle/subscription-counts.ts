import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { type Topic, topicOf } from '../event.ts';
import { ChangeLimiter } from './change-limiter.ts';

/** Above so many subscriptions a channel's count is told less often. Source: Channels protocol, §9. */
const LARGE_ABOVE = 100;

/** How often the count of a large channel is told while it changes: once in this time. Milliseconds. */
const LARGE_WINDOW_MS = 5000;

/** How often the count of a small channel is told while it changes: so many times in so many milliseconds. */
const SMALL_TIMES = 5;
const SMALL_WINDOW_MS = 1000;

/** Who is told how many subscribe to a channel. */
export type TellCount = (app: App, channel: ChannelName, count: number) => void;

/** Decides when the number of a channel's subscriptions is told: with each change, within the limits above. */
export class SubscriptionCounts {
  private readonly tell: TellCount;
  private readonly large: ChangeLimiter<Topic>;
  private readonly small: ChangeLimiter<Topic>;

  constructor(timers: Timers, tell: TellCount) {
    this.tell = tell;
    this.large = new ChangeLimiter(timers, LARGE_WINDOW_MS);
    this.small = new ChangeLimiter(timers, SMALL_WINDOW_MS);
  }

  changed(app: App, channel: ChannelName, count: number): void {
    const topic = topicOf(app, channel);
    const tell = () => this.tell(app, channel, count);
    // A count that waits to be told is out of date.
    if (count > LARGE_ABOVE) {
      this.small.cancel(topic);
      this.large.changed(topic, 1, tell);
    } else {
      this.large.cancel(topic);
      this.small.changed(topic, SMALL_TIMES, tell);
    }
  }
}
