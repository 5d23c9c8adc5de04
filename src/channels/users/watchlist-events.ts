import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import { type Broadcaster, broadcast } from '../broadcast.ts';
import type { Topic } from '../event.ts';
import { Delayed } from '../lifecycle/delayed.ts';
import { watchlistEvents } from '../wire.ts';

/**
 * How long a user without connections still counts as online, so that a reconnecting client does not go offline.
 * Milliseconds. Source: Channels protocol, §8.3 (our choice: the same as for webhooks).
 */
const OFFLINE_GRACE_MS = 3000;

/** Returns the topic that watchers of a user subscribe to; no channel can have its name. */
export function watchTopic(app: App, userId: string): Topic {
  return `${app.id}/#watch-${userId}` as Topic;
}

/** Notifies the watchers of a user when the user comes online or goes offline. */
export class WatchlistEvents {
  private readonly broadcaster: Broadcaster;
  private readonly leaving: Delayed<Topic>;

  constructor(timers: Timers, broadcaster: Broadcaster) {
    this.broadcaster = broadcaster;
    this.leaving = new Delayed(timers, OFFLINE_GRACE_MS);
  }

  /** The user's first connection signed in. */
  online(app: App, userId: string): void {
    const topic = watchTopic(app, userId);
    // A user who returns in time was never reported offline.
    if (!this.leaving.cancel(topic)) this.notify(topic, [userId], []);
  }

  /** The user's last connection ended. */
  offline(app: App, userId: string): void {
    const topic = watchTopic(app, userId);
    this.leaving.start(topic, () => this.notify(topic, [], [userId]));
  }

  /** Whether the user has no connection, but still counts as online. */
  isLeaving(app: App, userId: string): boolean {
    return this.leaving.has(watchTopic(app, userId));
  }

  private notify(topic: Topic, online: readonly string[], offline: readonly string[]): void {
    broadcast(this.broadcaster, topic, () => watchlistEvents(online, offline));
  }
}
