import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import { type Broadcaster, broadcast } from '../broadcast.ts';
import type { Topic } from '../event.ts';
import { Delayed } from '../lifecycle/delayed.ts';
import { watchlistEvents } from '../wire.ts';

/**
 * How long a user who has no connection left is still taken for online: clients that reconnect are not
 * away. Milliseconds. Source: Channels protocol, §8.3 (a choice: it is the time of the webhooks).
 */
const OFFLINE_GRACE_MS = 3000;

/** What those who watch a user listen to; no channel can have its name. */
export function watchTopic(app: App, userId: string): Topic {
  return `${app.id}/#watch-${userId}` as Topic;
}

/** Tells those who watch a user when the user comes online or goes offline. */
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
    // Whoever comes back in time has not been away.
    if (!this.leaving.cancel(topic)) this.report(topic, [userId], []);
  }

  /** The user's last connection went. */
  offline(app: App, userId: string): void {
    const topic = watchTopic(app, userId);
    this.leaving.start(topic, () => this.report(topic, [], [userId]));
  }

  /** Whether the user has no connection any more, but may be back in a moment. */
  isLeaving(app: App, userId: string): boolean {
    return this.leaving.has(watchTopic(app, userId));
  }

  private report(topic: Topic, online: readonly string[], offline: readonly string[]): void {
    broadcast(this.broadcaster, topic, () => watchlistEvents(online, offline));
  }
}
