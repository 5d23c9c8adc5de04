import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { Topic } from '../event.ts';
import { Delays } from '../lifecycle/delays.ts';
import type { WebhookEvents } from '../lifecycle/webhook-events.ts';
import type { Broadcast, UserStatus } from '../ports.ts';
import { watchlistEvents } from '../wire.ts';
import { LastSeen } from './last-seen.ts';
import { watchChannel, watchTopic } from './watch-topic.ts';

/** Sends a change of one user to the watchers. */
export type NotifyWatchers = (broadcast: Broadcast, userId: string, isOnline: boolean) => void;

export interface OnlineUsersOptions {
  readonly timers: Timers;
  readonly notifyWatchers: NotifyWatchers;
  readonly webhooks: WebhookEvents;
  /** Of how many users it is kept when they were last seen. */
  readonly lastSeenMax: number;
}

/**
 * Decides who is online of the users who sign in: from the first connection until `offlineSeconds` after the last one. So a
 * client that reconnects does not go offline.
 */
export class OnlineUsers {
  private readonly timers: Timers;
  private readonly notifyWatchers: NotifyWatchers;
  private readonly webhooks: WebhookEvents;
  private readonly lastSeen: LastSeen;
  private readonly leaving: Delays<Topic>;
  /** Since when those have been online who have no connection. */
  private readonly sinceOfLeaving = new Map<Topic, number>();

  constructor({ timers, notifyWatchers, webhooks, lastSeenMax }: OnlineUsersOptions) {
    this.timers = timers;
    this.notifyWatchers = notifyWatchers;
    this.webhooks = webhooks;
    this.lastSeen = new LastSeen(lastSeenMax, timers);
    this.leaving = new Delays(timers);
  }

  /** The user's first connection has signed in. Returns since when the user has been online. */
  came(app: App, userId: string): number {
    const topic = watchTopic(app, userId);
    this.lastSeen.forget(app.id, userId);
    const sinceMs = this.sinceOfLeaving.get(topic);
    if (sinceMs === undefined) {
      this.notify(app, userId, true);
      this.webhooks.emit(app, { name: 'user_online', user_id: userId });
      return this.timers.now();
    }
    // The user is back in time, and was never offline.
    this.leaving.cancel(topic);
    this.sinceOfLeaving.delete(topic);
    return sinceMs;
  }

  /** The user's last connection has ended. */
  left(app: App, userId: string, sinceMs: number): void {
    const topic = watchTopic(app, userId);
    const seenMs = this.timers.now();
    this.lastSeen.set(app.id, userId, seenMs);
    this.sinceOfLeaving.set(topic, sinceMs);
    this.leaving.start(topic, app.offlineSeconds * 1000, () => {
      this.sinceOfLeaving.delete(topic);
      this.notify(app, userId, false);
      this.webhooks.emit(app, { name: 'user_offline', user_id: userId, last_seen_ms: seenMs });
    });
  }

  /** Whether the user has no connection, but still counts as online. */
  isLeaving(app: App, userId: string): boolean {
    return this.sinceOfLeaving.has(watchTopic(app, userId));
  }

  /** What is known of a user without connections. */
  statusOf(app: App, userId: string): UserStatus {
    const sinceMs = this.sinceOfLeaving.get(watchTopic(app, userId));
    if (sinceMs !== undefined) return { isOnline: true, sinceMs, lastSeenMs: undefined };
    const lastSeenMs = this.lastSeen.of(app.id, userId);
    return { isOnline: false, sinceMs: undefined, lastSeenMs };
  }

  /** Forgets when the users of an app were last seen. */
  forgetApp(appId: string): void {
    this.lastSeen.forgetApp(appId);
  }

  /** All who are leaving are offline now. For a stop of the server. */
  flush(): void {
    this.leaving.flush();
  }

  private notify(app: App, userId: string, isOnline: boolean): void {
    const makeFrame = () =>
      isOnline ? watchlistEvents([userId], []) : watchlistEvents([], [userId]);
    app.tap?.record({ kind: isOnline ? 'user-online' : 'user-offline', user: userId });
    this.notifyWatchers({ app, channel: watchChannel(userId), makeFrame }, userId, isOnline);
  }
}
