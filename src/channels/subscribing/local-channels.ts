import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import type { SharedTotal } from '../../runtime/shared-memory/shared-total.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { type Topic, topicOf } from '../event.ts';
import type { Member } from '../ports.ts';
import type { Subscription } from './session.ts';

interface Entry {
  /** This loop's subscriptions, including those that the authority has not answered yet. */
  subscriptions: number;
  /** This loop's subscriptions by user. Only for presence channels. */
  users: Map<string, number> | undefined;
  readonly shared: Subscription & { readonly member: undefined };
}

/** The result of counting a new subscription. */
interface SharedEntry {
  /** This loop's subscriptions to the channel, including the new one. */
  readonly subscriptions: number;
  /** An object that all subscriptions without data of their own share. */
  readonly shared: Subscription & { readonly member: undefined };
}

/** This loop's remaining subscriptions to a channel that a connection has left. */
export interface Held {
  readonly subscriptions: number;
  /** Subscriptions of the user who left; 0 in other than presence channels. */
  readonly ofUser: number;
}

/** The channels with subscribers on this loop. What all subscriptions to a channel have in common is stored once. */
export class LocalChannels {
  private readonly byTopic = new Map<Topic, Entry>();
  /** Subscriptions by app id. */
  private readonly budget: FairBudget;
  private reserved = 0;

  /** `limit`: of all subscriptions, including those of other loops that share it. */
  constructor(limit = Number.POSITIVE_INFINITY, shared?: SharedTotal) {
    this.budget = new FairBudget(limit, shared);
  }

  /** All subscriptions on this loop. */
  get subscriptions(): number {
    return this.budget.total;
  }

  /**
   * Returns the id of the app that must give up a subscription to make room for another one of `app`: the app with
   * the most, which may be `app` itself. `undefined` if there is room.
   */
  ownerToEvict(app: App): string | undefined {
    return this.budget.ownerToEvict(app.id);
  }

  /** The subscriptions on this loop that wait, and are in no channel. */
  get waiting(): number {
    return this.reserved;
  }

  /** Counts a subscription that waits, and is in no channel. */
  reserve(app: App, units: number): void {
    this.reserved++;
    this.budget.add(app.id, units);
  }

  /** Undoes `reserve`. */
  release(app: App, units: number): void {
    this.reserved--;
    this.budget.release(app.id, units);
  }

  /** Counts a new subscription. */
  enter(app: App, channel: ChannelName, member: Member | undefined): SharedEntry {
    const topic = topicOf(app, channel);
    let entry = this.byTopic.get(topic);
    if (entry === undefined) {
      const shared = { channel, topic, member: undefined, state: 'joined' } as const;
      entry = { subscriptions: 0, users: undefined, shared };
      this.byTopic.set(topic, entry);
    }
    entry.subscriptions++;
    this.budget.add(app.id);
    if (member !== undefined) {
      entry.users ??= new Map();
      entry.users.set(member.userId, (entry.users.get(member.userId) ?? 0) + 1);
    }
    return entry;
  }

  /** Removes a subscription from the counts. */
  leave(app: App, topic: Topic, member: Member | undefined): Held {
    const entry = this.byTopic.get(topic);
    if (entry === undefined) return NOTHING_HELD;
    this.budget.release(app.id);
    entry.subscriptions--;
    if (entry.subscriptions === 0) this.byTopic.delete(topic);
    const { subscriptions, users } = entry;
    if (member === undefined || users === undefined) return { subscriptions, ofUser: 0 };
    const ofUser = (users.get(member.userId) ?? 1) - 1;
    if (ofUser === 0) users.delete(member.userId);
    else users.set(member.userId, ofUser);
    return { subscriptions, ofUser };
  }

  get size(): number {
    return this.byTopic.size;
  }
}

const NOTHING_HELD: Held = { subscriptions: 0, ofUser: 0 };
