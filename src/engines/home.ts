import type { App } from '../channels/app.ts';
import type { ChannelName, ChannelText } from '../channels/channel-name.ts';
import { CACHE_TTL_MS, type Topic, topicOf } from '../channels/event.ts';
import { LifecycleEvents } from '../channels/lifecycle/lifecycle-events.ts';
import { MemberChanges } from '../channels/lifecycle/member-changes.ts';
import type { WebhookEvents } from '../channels/lifecycle/webhook-events.ts';
import type {
  Broadcast,
  CachedEvent,
  ChannelCounts,
  ChannelQuery,
  Entered,
  Entry,
  Exit,
  Member,
  Publication,
} from '../channels/ports.ts';
import { type NotifyWatchers, WatchlistEvents } from '../channels/users/watchlist-events.ts';
import type { Timers } from '../runtime/ports.ts';
import { CHARACTERS_MAX, EVENTS_MAX, EventCache } from './event-cache.ts';
import { Holders, type HoldersWalk } from './holders.ts';
import { type Loop, Shares } from './shares.ts';

/** How a home reaches the loops. */
export interface HomeOptions {
  readonly timers: Timers;
  readonly webhooks: WebhookEvents;
  /** How many homes share the memory for remembered events; each has the same part. */
  readonly homes: number;
  /** Sends a broadcast to the loops that hold subscriptions of its channel. */
  readonly send: (broadcast: Broadcast) => void;
  /** Sends a change of a user to the loops that watch the user. */
  readonly notifyWatchers: NotifyWatchers;
}

const NO_MEMBERS: readonly Member[] = [];

/**
 * The authority over topics whose home is this loop: it takes what all loops state, decides, and sends what it decided. All
 * answers are there at once. Pure: how the loops talk to each other is up to the engine.
 */
export class Home {
  readonly holders = new Holders();
  /** The loops that have connections signed in as a user, by app and user. */
  private readonly users = new Map<string, Shares>();
  /** The loops that watch a user, by app and user. */
  private readonly watchers = new Map<string, Shares>();
  private readonly cache: EventCache;
  private readonly timers: Timers;
  private readonly send: (broadcast: Broadcast) => void;
  private readonly lifecycle: LifecycleEvents;
  private readonly memberChanges: MemberChanges;
  private readonly watchlists: WatchlistEvents;

  constructor({ timers, webhooks, homes, send, notifyWatchers }: HomeOptions) {
    this.timers = timers;
    this.send = send;
    this.cache = new EventCache(timers, EVENTS_MAX / homes, CHARACTERS_MAX / homes);
    this.lifecycle = new LifecycleEvents({ timers, send, webhooks });
    this.memberChanges = new MemberChanges(timers, send);
    this.watchlists = new WatchlistEvents(timers, notifyWatchers);
  }

  /** See `Authority.join`. */
  join(loop: Loop, entry: Entry, entered: (entered: Entered) => void): boolean {
    const { app, channel, held, member, socketId } = entry;
    const transition = this.holders.join(app, loop, { channel: channel.text, held, member });
    if (transition === 'full') return false;
    // Before the newcomer hears the channel: a member gets no event about itself.
    if (transition.memberAdded && member !== undefined) {
      this.memberChanges.added(app, channel, member, socketId);
    }
    this.lifecycle.joined(app, channel, member?.userId, transition);
    const cached = channel.cached ? this.cached(app, channel) : undefined;
    if (channel.cached && cached === undefined) this.lifecycle.cacheMissed(app, channel);
    entered({
      members: member === undefined ? NO_MEMBERS : this.members(app, channel),
      cached,
    });
    // Last, because the newcomer gets the count too, and must get nothing before its confirmation.
    this.lifecycle.counted(app, channel, transition);
    return true;
  }

  leave(loop: Loop, { app, channel, held, userId }: Exit): void {
    const transition = this.holders.leave(app, loop, { channel: channel.text, held, userId });
    if (transition.memberRemoved && userId !== undefined) {
      this.memberChanges.removed(app, channel, userId);
    }
    this.lifecycle.left(app, channel, userId, transition);
  }

  publish(publication: Publication): void {
    const { app, channel, remember } = publication;
    if (remember !== undefined) {
      const topic: Topic = `${app.id}/${channel}`;
      this.lifecycle.cached(topic);
      this.cache.put(topic, { ...remember, expiresAt: this.timers.now() + CACHE_TTL_MS });
    }
    this.send(publication);
  }

  signIn(loop: Loop, app: App, userId: string): void {
    const key = keyOf(app, userId);
    const isFirst = !this.users.has(key);
    state(this.users, key, loop, 1);
    if (isFirst) this.watchlists.online(app, userId);
  }

  signOut(loop: Loop, app: App, userId: string): void {
    const key = keyOf(app, userId);
    const wasOnline = this.users.has(key);
    state(this.users, key, loop, 0);
    if (wasOnline && !this.users.has(key)) this.watchlists.offline(app, userId);
  }

  /** Returns which of the users are online; one who went offline a moment ago still counts. */
  online(app: App, userIds: readonly string[]): ReadonlySet<string> {
    const isOnline = (userId: string) =>
      this.users.has(keyOf(app, userId)) || this.watchlists.isLeaving(app, userId);
    return new Set(userIds.filter(isOnline));
  }

  /** The loop watches these users from now on. */
  watch(loop: Loop, app: App, userIds: readonly string[]): void {
    for (const userId of userIds) state(this.watchers, keyOf(app, userId), loop, 1);
  }

  /** The loop watches these users no more. */
  unwatch(loop: Loop, app: App, userIds: readonly string[]): void {
    for (const userId of userIds) state(this.watchers, keyOf(app, userId), loop, 0);
  }

  members(app: App, channel: ChannelName): readonly Member[] {
    return this.holders.members(app, channel.text);
  }

  counts(app: App, channel: ChannelName): ChannelCounts {
    return this.holders.counts(app, channel.text);
  }

  cached(app: App, channel: ChannelName): CachedEvent | undefined {
    const event = this.cache.get(topicOf(app, channel));
    if (event === undefined) return undefined;
    const { name, data, expiresAt } = event;
    return { name, data, leftMs: expiresAt - this.timers.now() };
  }

  channelCountOf(app: App): number {
    return this.holders.channelCountOf(app);
  }

  channels(app: App, query: ChannelQuery): HoldersWalk {
    return this.holders.channels(app, query);
  }

  /** The loops that hold subscriptions of a channel. */
  loopsOf(app: App, channel: ChannelText): Shares | undefined {
    return this.holders.loopsOf(app, channel);
  }

  /** How many loops hold subscriptions of a channel. */
  loopCountOf(app: App, channel: ChannelText): number {
    let loops = 0;
    this.loopsOf(app, channel)?.forEachLoop(() => loops++);
    return loops;
  }

  /** The loops that have connections signed in as the user. */
  loopsWith(app: App, userId: string): Shares | undefined {
    return this.users.get(keyOf(app, userId));
  }

  /** The loops that watch the user. */
  loopsWatching(app: App, userId: string): Shares | undefined {
    return this.watchers.get(keyOf(app, userId));
  }

  /** Sends all delayed events now, because the server stops. */
  flush(): void {
    this.lifecycle.flush();
  }
}

function state(shares: Map<string, Shares>, key: string, loop: Loop, held: number): void {
  let loops = shares.get(key);
  if (loops === undefined) {
    if (held === 0) return;
    loops = new Shares();
    shares.set(key, loops);
  }
  loops.state(loop, held);
  if (loops.total === 0) shares.delete(key);
}

function keyOf(app: App, userId: string): string {
  // App ids have no slash.
  return `${app.id}/${userId}`;
}
