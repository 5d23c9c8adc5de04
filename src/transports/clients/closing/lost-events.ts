import type { App } from '../../../channels/app.ts';
import type { ChannelText } from '../../../channels/channel-name.ts';
import type { LostEvents } from '../../../channels/lost-events.ts';
import type { Timers } from '../../../runtime/ports.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { ClientConnection } from '../connection.ts';
import type { ClientConnections } from '../connections.ts';
import { drain } from './drain.ts';
import { endWith } from './end.ts';

/** The time for closing connections that cannot resume: for each of them, and at most. Milliseconds. */
const EACH_MS = 2;
const OVER_MS_MAX = 4000;

type LostOfApp = Map<ChannelText, LostEvents['affects']>;

/**
 * Closes connections that may have missed events, so that every client learns of it.
 *
 * Those that can resume are closed at once: after a later event, they would not ask for what they missed. Others are
 * closed in small steps, because they come back immediately, and their backends authorise them again.
 */
export class LostEventsCloser {
  private readonly connections: Pick<ClientConnections, 'all'>;
  private readonly timers: Timers;
  private readonly waiting = new Set<ClientConnection>();
  private isClosing = false;

  constructor(connections: Pick<ClientConnections, 'all'>, timers: Timers = monotonicTimers) {
    this.connections = connections;
    this.timers = timers;
  }

  close(lost: readonly LostEvents[]): void {
    const byApp = sortByApp(lost);
    for (const connection of this.connections.all()) {
      const ofApp = byApp.get(connection.app);
      if (ofApp === undefined || !isAffected(connection, ofApp)) continue;
      if (connection.canResume) endWith(connection, 'events-lost');
      else this.waiting.add(connection);
    }
    if (!this.isClosing && this.waiting.size > 0) void this.closeWaiting();
  }

  private async closeWaiting(): Promise<void> {
    this.isClosing = true;
    const { waiting } = this;
    const left = {
      all: () => waiting,
      get size() {
        return waiting.size;
      },
    };
    const overMs = Math.min(OVER_MS_MAX, EACH_MS * waiting.size);
    const end = (connection: ClientConnection) => {
      waiting.delete(connection);
      if (connection.isOpen) endWith(connection, 'events-lost');
    };
    await drain(left, overMs, end, this.timers);
    this.isClosing = false;
    // Some may have been added at the end.
    if (waiting.size > 0) await this.closeWaiting();
  }
}

function sortByApp(lost: readonly LostEvents[]): ReadonlyMap<App, LostOfApp> {
  const byApp = new Map<App, LostOfApp>();
  for (const { app, channel, affects } of lost) {
    const ofApp = byApp.get(app) ?? new Map();
    ofApp.set(channel, affects);
    byApp.set(app, ofApp);
  }
  return byApp;
}

function isAffected(connection: ClientConnection, lost: LostOfApp): boolean {
  const affects = (one: LostEvents['affects'] | undefined) =>
    one === 'all' || (one === 'resuming' && connection.canResume);
  // The shorter list is searched for in the other.
  if (lost.size < connection.subscriptionCount) {
    for (const [channel, one] of lost) {
      if (affects(one) && connection.subscription(channel) !== undefined) return true;
    }
    return false;
  }
  return connection.subscriptions().some(({ channel }) => affects(lost.get(channel.text)));
}
