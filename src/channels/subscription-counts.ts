import type { App } from './app.ts';
import type { ChannelName } from './channel-name.ts';
import { Delayed } from './delayed.ts';
import { type Topic, topicOf } from './event.ts';
import type { Timers } from './ports.ts';

/** Above so many subscriptions a channel's count is told less often. Source: Channels protocol, §9. */
const THROTTLED_ABOVE = 100;
/** How often it is told then, while it changes. Milliseconds. */
const THROTTLE_MS = 5000;

/** Who is told how many subscribe to a channel. */
export type TellCount = (app: App, channel: ChannelName, count: number) => void;

/** Decides when the number of a channel's subscriptions is told: each change, but of large channels not more than every 5 s. */
export class SubscriptionCounts {
  private readonly tell: TellCount;
  private readonly throttled: Delayed<Topic>;
  /** What changed while a channel was throttled. */
  private readonly untold = new Map<Topic, () => void>();

  constructor(timers: Timers, tell: TellCount) {
    this.tell = tell;
    this.throttled = new Delayed(timers, THROTTLE_MS);
  }

  changed(app: App, channel: ChannelName, count: number): void {
    const topic = topicOf(app, channel);
    if (count <= THROTTLED_ABOVE) {
      this.untold.delete(topic);
      this.tell(app, channel, count);
      return;
    }
    const tell = () => this.tell(app, channel, count);
    if (this.throttled.has(topic)) this.untold.set(topic, tell);
    else this.tellAndWait(topic, tell);
  }

  private tellAndWait(topic: Topic, tell: () => void): void {
    tell();
    this.throttled.start(topic, () => {
      const untold = this.untold.get(topic);
      this.untold.delete(topic);
      if (untold !== undefined) this.tellAndWait(topic, untold);
    });
  }
}
