import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { type Topic, topicOf } from '../event.ts';
import { ChangeLimiter } from './change-limiter.ts';

/** Channels with more subscriptions are large. Source: Channels protocol, §9. */
const LARGE_ABOVE = 100;

/** Large channels: one count per this time. Milliseconds. */
const LARGE_WINDOW_MS = 5000;

/** Small channels: five counts per this time. Milliseconds. */
const SMALL_TIMES = 5;
const SMALL_WINDOW_MS = 1000;

/** Sends a channel's count; `users` of a large presence channel. */
export type SendCount = (
  app: App,
  channel: ChannelName,
  count: number,
  users: number | undefined,
) => void;

/**
 * Sends the subscription count of a channel with each change, as often as the limits above allow. The last count is
 * always sent.
 */
export class SubscriptionCounts {
  private readonly send: SendCount;
  private readonly large: ChangeLimiter<Topic>;
  private readonly small: ChangeLimiter<Topic>;

  constructor(timers: Timers, send: SendCount) {
    this.send = send;
    this.large = new ChangeLimiter(timers, LARGE_WINDOW_MS);
    this.small = new ChangeLimiter(timers, SMALL_WINDOW_MS);
  }

  changed(app: App, channel: ChannelName, count: number, users?: number): void {
    const topic = topicOf(app, channel);
    const send = () => this.send(app, channel, count, users);
    // The waiting count is outdated.
    if (count > LARGE_ABOVE) {
      this.small.cancel(topic);
      this.large.changed(topic, 1, send);
    } else {
      this.large.cancel(topic);
      this.small.changed(topic, SMALL_TIMES, send);
    }
  }
}
