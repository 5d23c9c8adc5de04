import type { App } from '../channels/app.ts';
import type { Append, AppendOutcome } from '../channels/appending/append.ts';
import { type Broadcaster, broadcast } from '../channels/broadcast.ts';
import type { ChannelName } from '../channels/channel-name.ts';
import type { EventId } from '../channels/history/event-id.ts';
import type { HistoryPage, HistoryQuery } from '../channels/history/page.ts';
import type { WebhookEvents } from '../channels/lifecycle/webhook-events.ts';
import type {
  Authority,
  CachedEvent,
  ChannelCounts,
  ChannelQuery,
  ChannelWalk,
  Entered,
  Entry,
  Exit,
  Member,
  MembersPage,
  MembersQuery,
  Publication,
  UserStatus,
} from '../channels/ports.ts';
import type { Clock, Timers } from '../runtime/ports.ts';
import type { HistoryMeter } from './history/histories.ts';
import { Home } from './home.ts';
import type { RememberedMax } from './remembered.ts';

export interface MemoryEngineOptions {
  readonly timers: Timers;
  /** A monotonic clock. */
  readonly monotonic: Clock;
  readonly webhooks: WebhookEvents;
  readonly broadcaster: Broadcaster;
  readonly meter: HistoryMeter;
  readonly historyBytes: number;
  readonly remembered?: RememberedMax | undefined;
  /** Closes all connections of this loop that are signed in as the user. */
  readonly terminate: (app: App, userId: string) => void;
}

/** The number of the only loop. */
const THIS = 0;

/**
 * The engine of a server with one realtime loop, which is the home of all topics. It answers synchronously and never
 * fails.
 */
export class MemoryEngine implements Authority {
  readonly home: Home;
  private readonly endUser: (app: App, userId: string) => void;

  constructor(options: MemoryEngineOptions) {
    const { timers, monotonic, webhooks, broadcaster, meter, historyBytes, remembered, terminate } =
      options;
    const send = broadcast.bind(undefined, broadcaster);
    this.home = new Home({
      timers,
      monotonic,
      webhooks,
      meter,
      homes: 1,
      historyBytes,
      remembered,
      send,
      notifyWatchers: send,
    });
    this.endUser = terminate;
  }

  join(entry: Entry, entered: (entered: Entered) => void): boolean {
    return this.home.join(THIS, entry, entered);
  }

  leave(exit: Exit): void {
    this.home.leave(THIS, exit);
  }

  publish(publication: Publication): EventId | undefined {
    const id = this.home.publish(publication);
    publication.sentTo?.(1);
    return id;
  }

  append(append: Append): AppendOutcome {
    return this.home.append(append);
  }

  stopValue(app: App, channel: ChannelName, id: string): AppendOutcome {
    return this.home.stopValue(app, channel, id);
  }

  signIn(app: App, userId: string, held: number): boolean {
    return this.home.signIn(THIS, app, userId, held);
  }

  signOut(app: App, userId: string, held: number): void {
    this.home.signOut(THIS, app, userId, held);
  }

  watch(app: App, userIds: readonly string[]): ReadonlySet<string> {
    return this.home.online(app, userIds);
  }

  /** Nothing to do: without watchers on this loop, the broadcast has no receivers. */
  unwatch(): undefined {
    return undefined;
  }

  userStatuses(app: App, userIds: readonly string[]): readonly UserStatus[] {
    return this.home.userStatuses(app, userIds);
  }

  terminate(app: App, userId: string): void {
    this.endUser(app, userId);
  }

  members(app: App, channel: ChannelName): readonly Member[] {
    return this.home.members(app, channel);
  }

  membersPage(app: App, channel: ChannelName, query: MembersQuery): MembersPage {
    return this.home.membersPage(app, channel, query);
  }

  member(app: App, channel: ChannelName, userId: string): Member | undefined {
    return this.home.member(app, channel, userId);
  }

  counts(app: App, channel: ChannelName): ChannelCounts {
    return this.home.counts(app, channel);
  }

  history(app: App, channel: ChannelName, query: HistoryQuery): HistoryPage {
    return this.home.history(app, channel, query);
  }

  forgetHistory(app: App, channel: ChannelName): void {
    this.home.forgetHistory(app, channel);
  }

  cached(app: App, channel: ChannelName): CachedEvent | undefined {
    return this.home.cached(app, channel);
  }

  channelCountOf(app: App): number {
    return this.home.channelCountOf(app);
  }

  channels(app: App, query: ChannelQuery): ChannelWalk {
    return this.home.channels(app, query);
  }
}
