import type { App } from '../../channels/app.ts';
import type { ChannelText } from '../../channels/channel-name.ts';
import { OldestFirst } from '../../runtime/oldest-first.ts';
import type { ChannelHistory, KeptEvent } from './channel-history.ts';

/** The histories of one app, and all their events in the order of arrival. */
export class AppHistories {
  readonly app: App;
  readonly channels = new Map<ChannelText, ChannelHistory>();
  /** Channels with an empty history and no subscribers, with the time since when. Oldest first. */
  readonly idle = new OldestFirst<ChannelText, number>();
  bytes = 0;
  oldest: KeptEvent | undefined;
  private newest: KeptEvent | undefined;

  constructor(app: App) {
    this.app = app;
  }

  /** Adds an event as the newest one of its channel and of the app. */
  append(event: KeptEvent): void {
    event.history.append(event);
    this.bytes += event.bytes;
    event.older = this.newest;
    if (this.newest === undefined) this.oldest = event;
    else this.newest.newer = event;
    this.newest = event;
  }

  /** Forgets the oldest event of a channel. */
  shift(history: ChannelHistory): KeptEvent | undefined {
    const event = history.shift();
    if (event === undefined) return undefined;
    this.bytes -= event.bytes;
    const { older, newer } = event;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.newest = older;
    else newer.older = older;
    // Answers may still refer to the event, and must not keep its neighbours alive.
    event.older = undefined;
    event.newer = undefined;
    return event;
  }
}
