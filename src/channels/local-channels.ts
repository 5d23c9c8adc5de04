import type { App } from './app.ts';
import type { ChannelName } from './channel-name.ts';
import { type Topic, topicOf } from './event.ts';
import type { Subscription } from './session.ts';

interface Entry {
  subscriptions: number;
  readonly shared: Subscription & { readonly member: undefined };
}

/** The channels that connections of this node are in: what is the same for all of them is kept once. */
export class LocalChannels {
  private readonly byTopic = new Map<Topic, Entry>();

  /** Counts one subscription more. What it gives is of everyone who is in it and has nothing of their own there. */
  enter(app: App, channel: ChannelName): Subscription & { readonly member: undefined } {
    const topic = topicOf(app, channel);
    let entry = this.byTopic.get(topic);
    if (entry === undefined) {
      const shared = { channel, topic, member: undefined, state: 'joined' } as const;
      entry = { subscriptions: 0, shared };
      this.byTopic.set(topic, entry);
    }
    entry.subscriptions++;
    return entry.shared;
  }

  /** One subscription less. */
  leave(topic: Topic): void {
    const entry = this.byTopic.get(topic);
    if (entry === undefined) return;
    entry.subscriptions--;
    if (entry.subscriptions === 0) this.byTopic.delete(topic);
  }

  get size(): number {
    return this.byTopic.size;
  }
}
