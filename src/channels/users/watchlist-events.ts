import type { Timers } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { ChannelText } from '../channel-name.ts';
import type { Topic } from '../event.ts';
import { Delayed } from '../lifecycle/delayed.ts';
import type { Broadcast } from '../ports.ts';
import { watchlistEvents } from '../wire.ts';

/**
 * How long a user without connections still counts as online, so that a reconnecting client does not go offline.
 * Milliseconds. Source: Channels protocol, §8.3 (our choice: the same as for webhooks).
 */
const OFFLINE_GRACE_MS = 3000;

/** The name that watchers of a user subscribe to, in place of a channel. No channel can have this name. */
export function watchChannel(userId: string): ChannelText {
  return `#watch-${userId}` as ChannelText;
}

/** Returns the topic that watchers of a user subscribe to. */
export function watchTopic(app: App, userId: string): Topic {
  return `${app.id}/${watchChannel(userId)}`;
}

/** Sends a change of one user to the watchers. */
export type NotifyWatchers = (broadcast: Broadcast, userId: string, isOnline: boolean) => void;

/** Notifies the watchers of a user when the user comes online or goes offline. */
export class WatchlistEvents {
  private readonly send: NotifyWatchers;
  private readonly leaving: Delayed<Topic>;

  constructor(timers: Timers, send: NotifyWatchers) {
    this.send = send;
    this.leaving = new Delayed(timers, OFFLINE_GRACE_MS);
  }

  /** The user's first connection signed in. */
  online(app: App, userId: string): void {
    const topic = watchTopic(app, userId);
    // The user returned in time and was never reported offline.
    if (!this.leaving.cancel(topic)) this.notify(app, userId, true);
  }

  /** The user's last connection ended. */
  offline(app: App, userId: string): void {
    const topic = watchTopic(app, userId);
    this.leaving.start(topic, () => this.notify(app, userId, false));
  }

  /** Whether the user has no connection, but still counts as online. */
  isLeaving(app: App, userId: string): boolean {
    return this.leaving.has(watchTopic(app, userId));
  }

  private notify(app: App, userId: string, isOnline: boolean): void {
    const makeFrame = () =>
      isOnline ? watchlistEvents([userId], []) : watchlistEvents([], [userId]);
    this.send({ app, channel: watchChannel(userId), makeFrame }, userId, isOnline);
  }
}
