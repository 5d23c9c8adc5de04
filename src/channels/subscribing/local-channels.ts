import { FairBudget } from '../../runtime/fair-budget.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { type Topic, topicOf } from '../event.ts';
import type { Subscription } from './session.ts';

interface Entry {
  subscriptions: number;
  readonly shared: Subscription & { readonly member: undefined };
}

/** The channels that connections of this node are in: what is the same for all of them is kept once. */
export class LocalChannels {
  private readonly byTopic = new Map<Topic, Entry>();
  /** Subscriptions by app id. */
  private readonly budget: FairBudget;

  /** `limit`: subscriptions in all. */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.budget = new FairBudget(limit);
  }

  /**
   * Which app must give up a subscription before this one may have one more: the id of the app that has most, which
   * may be this one; `undefined` where there is room.
   */
  whoYields(app: App): string | undefined {
    return this.budget.whoYields(app.id);
  }

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
    this.budget.add(app.id);
    return entry.shared;
  }

  /** One subscription of the app less. */
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
