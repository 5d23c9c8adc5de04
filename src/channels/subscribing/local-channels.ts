import { FairBudget } from '../../runtime/fair-budget.ts';
import type { SharedTotal } from '../../runtime/shared-total.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { type Topic, topicOf } from '../event.ts';
import type { Subscription } from './session.ts';

interface Entry {
  subscriptions: number;
  readonly shared: Subscription & { readonly member: undefined };
}

/** The channels with subscribers on this node. What all subscriptions to a channel have in common is kept once. */
export class LocalChannels {
  private readonly byTopic = new Map<Topic, Entry>();
  /** Subscriptions by app id. */
  private readonly budget: FairBudget;

  /** `limit`: all subscriptions, those of other loops that share it included. */
  constructor(limit = Number.POSITIVE_INFINITY, shared?: SharedTotal) {
    this.budget = new FairBudget(limit, shared);
  }

  /**
   * Returns the id of the app that must give up a subscription before `app` may have one more: the one with the most, which
   * may be `app` itself; `undefined` if there is room.
   */
  whoYields(app: App): string | undefined {
    return this.budget.whoYields(app.id);
  }

  /** Counts one more subscription. Returns an object that all subscriptions without data of their own can share. */
  enter(app: App, channel: ChannelName): Subscription & { readonly member: undefined } {
    const topic = topicOf(app, channel);
    let entry = this.byTopic.get(topic);
    if (entry === undefined) {
      const shared = { channel, topic, member: undefined, state: 'joined' } as const;
      entry = { subscriptions: 0, shared };
      this.byTopic.set(topic, entry);
    }
    entry.subscriptions++;
    this.budget.add(app.id);
    return entry.shared;
  }

  /** Counts one subscription less. */
  leave(app: App, topic: Topic): void {
    const entry = this.byTopic.get(topic);
    if (entry === undefined) return;
    this.budget.release(app.id);
    entry.subscriptions--;
    if (entry.subscriptions === 0) this.byTopic.delete(topic);
  }

  get size(): number {
    return this.byTopic.size;
  }
}
