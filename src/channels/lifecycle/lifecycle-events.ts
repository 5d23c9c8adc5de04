import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { type Topic, topicOf } from '../event.ts';
import type { Broadcast } from '../ports.ts';
import type { Tap } from '../watching/tap.ts';
import { subscriptionCount } from '../wire.ts';
import { Delays } from './delays.ts';
import { SubscriptionCounts } from './subscription-counts.ts';
import type { Transition } from './transition.ts';
import type { WebhookEvent } from './webhook-event.ts';
import type { WebhookEvents } from './webhook-events.ts';

/**
 * The delay of `channel_vacated` and `member_removed`. They are cancelled if the subscriber returns in time.
 * Milliseconds. Source: Channels protocol, §15.
 */
const GRACE_MS = 3000;

export interface LifecycleEventsOptions {
  readonly timers: Timers;
  readonly send: (broadcast: Broadcast) => void;
  readonly webhooks: WebhookEvents;
}

/** A subscription that was removed. */
export interface LeftSubscription {
  readonly userId: string | undefined;
  readonly change: Transition;
  readonly stayedMs?: number;
}

/** Turns transitions of channels into webhook events and subscription counts. */
export class LifecycleEvents {
  private readonly webhooks: WebhookEvents;
  private readonly timers: Timers;
  /** `channel_vacated` by topic and `member_removed` by topic and user: mostly of one delay, so they keep their order. */
  private readonly ends: Delays<string>;
  /** In apps with rules for presence channels: when the latest `member_removed` of a channel is due. */
  private readonly removedAtMs = new Map<Topic, number>();
  private readonly counts: SubscriptionCounts;
  /** Cache channels whose miss was reported, until they have an event or are vacated. */
  private readonly missed = new Set<Topic>();

  constructor({ timers, send, webhooks }: LifecycleEventsOptions) {
    this.timers = timers;
    this.webhooks = webhooks;
    this.ends = new Delays(timers);
    this.counts = new SubscriptionCounts(timers, (app, channel, count, users) => {
      const makeFrame = () => subscriptionCount(channel.text, count, users);
      app.tap?.record({ kind: 'count', channel: channel.text, count });
      send({ app, channel: channel.text, makeFrame });
      // There is no such event for presence channels.
      if (users !== undefined) return;
      this.webhooks.emit(app, {
        name: 'subscription_count',
        channel: channel.text,
        subscription_count: count,
      });
    });
  }

  /** A subscription was added. */
  joined(app: App, channel: ChannelName, userId: string | undefined, change: Transition): void {
    if (channel.kind === 'server-to-user') return;
    if (app.tap !== undefined) recordJoin(app.tap, channel, userId, change);
    // If the subscriber returned in time, neither the end nor the new beginning is reported.
    if (change.occupied && !this.isBack(app, channel)) {
      this.webhooks.emit(app, { name: 'channel_occupied', channel: channel.text });
    }
    if (change.memberAdded && userId !== undefined) {
      if (!this.ends.cancel(memberKey(topicOf(app, channel), userId))) {
        this.webhooks.emit(app, {
          name: 'member_added',
          channel: channel.text,
          user_id: userId,
        });
      }
    }
  }

  /** Whether a channel is occupied again before its end was reported. Mostly none waits to be, and then it needs no topic. */
  private isBack(app: App, channel: ChannelName): boolean {
    return !this.ends.isEmpty && this.ends.cancel(topicOf(app, channel));
  }

  /**
   * The number of subscriptions has changed. Called after the newcomer is confirmed, so that it gets the count, too.
   */
  counted(app: App, channel: ChannelName, { counts, vacated, large }: Transition): void {
    if (large !== undefined) {
      if (!vacated) this.counts.changed(app, channel, counts.subscriptions, counts.users);
      return;
    }
    if (!app.subscriptionCounts) return;
    if (channel.kind === 'presence' || channel.kind === 'server-to-user') return;
    if (!vacated || this.webhooks.wants(app, 'subscription_count')) {
      this.counts.changed(app, channel, counts.subscriptions);
    }
  }

  /** A subscription was removed; `stayedMs`: of a member who had stayed for so long without connections. */
  left(app: App, channel: ChannelName, { userId, change, stayedMs = 0 }: LeftSubscription): void {
    if (channel.kind === 'server-to-user') return;
    if (app.tap !== undefined) recordLeave(app.tap, channel, userId, change);
    if (change.vacated && channel.cached) this.missed.delete(topicOf(app, channel));
    if (app.webhooks.length > 0) {
      const topic = topicOf(app, channel);
      if (change.memberRemoved && userId !== undefined) {
        const event: WebhookEvent = {
          name: 'member_removed',
          channel: channel.text,
          user_id: userId,
        };
        const delayMs = this.delayOf(app, topic, stayedMs);
        this.ends.start(memberKey(topic, userId), delayMs, () => this.webhooks.emit(app, event));
      }
      if (change.vacated) {
        const event: WebhookEvent = { name: 'channel_vacated', channel: channel.text };
        const delayMs = this.delayOf(app, topic, stayedMs);
        this.removedAtMs.delete(topic);
        this.ends.start(topic, delayMs, () => this.webhooks.emit(app, event));
      }
    }
    this.counted(app, channel, change);
  }

  /** How long the end of a member, or of a channel, waits. No end of a channel is reported before those of its members. */
  private delayOf(app: App, topic: Topic, stayedMs: number): number {
    const delayMs = Math.max(0, GRACE_MS - stayedMs);
    if (app.presence.length === 0) return delayMs;
    const nowMs = this.timers.now();
    const isBehind = (this.removedAtMs.get(topic) ?? 0) > nowMs + delayMs;
    const fittingMs = isBehind ? GRACE_MS : delayMs;
    this.removedAtMs.set(topic, nowMs + fittingMs);
    return fittingMs;
  }

  /** A subscriber found no cached event. Reported once, even if many subscribers miss it. */
  cacheMissed(app: App, channel: ChannelName): void {
    const topic = topicOf(app, channel);
    if (this.missed.has(topic) || !this.webhooks.wants(app, 'cache_miss')) return;
    this.missed.add(topic);
    this.webhooks.emit(app, { name: 'cache_miss', channel: channel.text });
  }

  /** A cache channel got an event. */
  cached(topic: Topic): void {
    this.missed.delete(topic);
  }

  /** Sends all delayed events now. For a stop of the server. */
  flush(): void {
    this.ends.flush();
  }
}

/** Shows a transition in live streams as it happens. Webhooks are delayed in case the subscriber returns. */
function recordJoin(
  tap: Tap,
  { text: channel }: ChannelName,
  user: string | undefined,
  change: Transition,
): void {
  if (change.occupied) tap.record({ kind: 'occupied', channel });
  if (change.memberAdded) tap.record({ kind: 'member-added', channel, user });
}

function recordLeave(
  tap: Tap,
  { text: channel }: ChannelName,
  user: string | undefined,
  change: Transition,
): void {
  if (change.memberRemoved) tap.record({ kind: 'member-removed', channel, user });
  if (change.vacated) tap.record({ kind: 'vacated', channel });
}

function memberKey(topic: Topic, userId: string): string {
  return `${topic}\n${userId}`;
}
