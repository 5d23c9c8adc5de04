import type { App } from '../channels/app.ts';
import type { Append, AppendOutcome } from '../channels/appending/append.ts';
import type { ChannelName, ChannelText } from '../channels/channel-name.ts';
import { CACHE_TTL_MS, type Topic, topicOf } from '../channels/event.ts';
import type { EventId } from '../channels/history/event-id.ts';
import { historyRuleOf } from '../channels/history/history-rule.ts';
import type { HistoryPage, HistoryQuery } from '../channels/history/page.ts';
import type { FoundHistory } from '../channels/history/resume.ts';
import { Delays } from '../channels/lifecycle/delays.ts';
import { type LeftSubscription, LifecycleEvents } from '../channels/lifecycle/lifecycle-events.ts';
import { MemberBatches } from '../channels/lifecycle/member-batches.ts';
import { MemberChanges } from '../channels/lifecycle/member-changes.ts';
import type { Transition } from '../channels/lifecycle/transition.ts';
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
  MembersPage,
  MembersQuery,
  Publication,
  RememberedValue,
  UserStatus,
} from '../channels/ports.ts';
import { type NotifyWatchers, OnlineUsers } from '../channels/users/online-users.ts';
import type { Clock, Timers } from '../runtime/ports.ts';
import { EventCache, type GrowingValue } from './event-cache.ts';
import { Histories, type HistoryMeter, type RestoreOptions } from './history/histories.ts';
import { decodeSaved, encodeSaved } from './history/saved-history.ts';
import { Holders, type HoldersWalk } from './holders.ts';
import { PublishedKeys } from './published-keys.ts';
import { REMEMBERED_MAX, type RememberedMax } from './remembered.ts';
import { type Loop, Shares } from './shares.ts';
import { dataOf, Values } from './values.ts';

/** The home's connection to the loops. */
export interface HomeOptions {
  readonly timers: Timers;
  /** A monotonic clock. A system clock that is set forward would end idempotency keys too early. */
  readonly monotonic: Clock;
  readonly webhooks: WebhookEvents;
  readonly meter: HistoryMeter;
  /** The number of homes that share the memory for remembered events equally. */
  readonly homes: number;
  /** The limit of all histories on all homes. Bytes. */
  readonly historyBytes: number;
  /** The limit of everything else that is remembered, on all homes. */
  readonly remembered?: RememberedMax | undefined;
  /** Sends a broadcast to the loops that hold subscriptions of its channel. */
  readonly send: (broadcast: Broadcast) => void;
  /** Sends a change of a user to the loops that watch this user. */
  readonly notifyWatchers: NotifyWatchers;
}

const NO_MEMBERS: readonly Member[] = [];

/** How many connections of each loop are signed in as a user. */
class SignedInUser extends Shares {
  /** Since when the user has been online. Milliseconds since 1970. */
  sinceMs = 0;
}

/**
 * The authority over the topics whose home is this loop: it processes the statements of all loops, decides, and sends
 * out the decisions. It answers synchronously. Pure: how loops exchange messages is the engine's concern.
 */
export class Home {
  readonly holders = new Holders();
  readonly histories: Histories;
  private readonly keys: PublishedKeys;
  /** How many connections of each loop are signed in as a user, by app and user. Exact for apps that limit them. */
  private readonly users = new Map<string, SignedInUser>();
  /** The loops that watch a user, by app and user. */
  private readonly watchers = new Map<string, Shares>();
  private readonly cache: EventCache;
  private readonly values: Values;
  private readonly timers: Timers;
  private readonly send: (broadcast: Broadcast) => void;
  private readonly lifecycle: LifecycleEvents;
  private readonly memberChanges: MemberChanges;
  private readonly memberBatches: MemberBatches;
  private readonly onlineUsers: OnlineUsers;
  /** The ends of members that stay without connections, by topic and user. */
  private readonly stays: Delays<string>;

  constructor(options: HomeOptions) {
    const { timers, monotonic, webhooks, meter, homes, historyBytes, send, notifyWatchers } =
      options;
    const { items, cachedCharacters } = options.remembered ?? REMEMBERED_MAX;
    const itemsHere = Math.ceil(items / homes);
    this.timers = timers;
    this.send = send;
    this.cache = new EventCache(timers, itemsHere, cachedCharacters / homes);
    this.keys = new PublishedKeys(itemsHere, monotonic);
    this.histories = new Histories({
      timers,
      meter,
      bytesMax: historyBytes / homes,
      idleMax: itemsHere,
      homes,
      isOccupied: (app, channel) => this.holders.loopsOf(app, channel) !== undefined,
    });
    this.lifecycle = new LifecycleEvents({ timers, send, webhooks });
    this.values = new Values({
      cache: this.cache,
      histories: this.histories,
      clock: timers,
      send,
      onBegun: (topic) => this.lifecycle.cached(topic),
    });
    this.memberChanges = new MemberChanges(timers, send);
    this.memberBatches = new MemberBatches(timers, send);
    this.onlineUsers = new OnlineUsers({
      timers,
      notifyWatchers,
      webhooks,
      lastSeenMax: itemsHere,
    });
    this.stays = new Delays(timers);
  }

  /** See `Authority.join`. */
  join(loop: Loop, entry: Entry, entered: (entered: Entered) => void): boolean {
    const { app, channel, held, member, newcomer, history: request } = entry;
    const transition = this.holders.join(app, loop, { channel: channel.text, held, member });
    if (transition === 'full') return false;
    // Before the newcomer joins the audience: a member gets no event about itself.
    const { large } = transition;
    if (transition.memberAdded && member !== undefined) {
      if (large !== undefined) this.memberBatches.added(app, channel, member, large.named);
      else this.memberChanges.added(app, channel, member, newcomer.socketId);
    }
    if (member !== undefined && !transition.memberAdded && !this.stays.isEmpty) {
      this.stays.cancel(stayKey(app, channel, member.userId));
    }
    if (transition.replaced !== undefined && member !== undefined) {
      if (large !== undefined) this.memberBatches.added(app, channel, member, large.named);
      else {
        this.memberChanges.removed(app, channel, transition.replaced);
        this.memberChanges.added(app, channel, member, newcomer.socketId);
      }
    }
    this.lifecycle.joined(app, channel, member?.userId, transition);
    const rule = request && historyRuleOf(app, channel.text);
    const history =
      rule &&
      this.histories.enter({
        app,
        channel: channel.text,
        rule,
        request,
        socketId: newcomer.socketId,
      });
    const cached = channel.cached ? this.cached(app, channel) : undefined;
    if (channel.cached && cached === undefined && !hasEvents(history)) {
      this.lifecycle.cacheMissed(app, channel);
    }
    const found =
      channel.kind === 'presence'
        ? { ...this.membersFor(app, channel, member, transition), cached }
        : { members: NO_MEMBERS, cached };
    entered(history === undefined ? found : { ...found, history });
    // Last, because the newcomer gets the count too, but nothing before its confirmation.
    this.lifecycle.counted(app, channel, transition);
    return true;
  }

  leave(loop: Loop, { app, channel, held, userId, graceSeconds }: Exit): void {
    const { text } = channel;
    const member = userId === undefined ? undefined : this.holders.member(app, text, userId);
    const stays = graceSeconds !== undefined;
    const change = this.holders.leave(app, loop, { channel: text, held, userId, stays });
    if (stays && member !== undefined) this.startStay(app, channel, member, graceSeconds * 1000);
    this.afterLeaving(app, channel, member, { userId, change });
  }

  /** Apart from `leave`, which makes no functions for members that do not stay. */
  private startStay(app: App, channel: ChannelName, member: Member, stayedMs: number): void {
    const { userId } = member;
    if (!this.holders.isStaying(app, channel.text, userId)) return;
    this.stays.start(stayKey(app, channel, userId), stayedMs, () => {
      const change = this.holders.endStay(app, channel.text, userId);
      this.afterLeaving(app, channel, member, { userId, change, stayedMs });
    });
  }

  /** The members that a newcomer learns of. */
  private membersFor(
    app: App,
    channel: ChannelName,
    member: Member | undefined,
    { large, counts }: Transition,
  ): Pick<Entered, 'members' | 'users'> {
    if (large !== undefined) {
      const members = this.holders.shown(app, channel.text, member, large);
      return { members, users: counts.users };
    }
    const members = this.memberChanges.known(app, channel, this.members(app, channel), member);
    return { members };
  }

  private afterLeaving(
    app: App,
    channel: ChannelName,
    member: Member | undefined,
    left: LeftSubscription,
  ): void {
    const { memberRemoved, vacated, large } = left.change;
    if (memberRemoved && member !== undefined) {
      if (large === undefined) this.memberChanges.removed(app, channel, member);
      else this.memberBatches.removed(app, channel, member.userId, large.named);
    }
    if (vacated) this.memberChanges.forget(app, channel);
    if (vacated) this.memberBatches.forget(app, channel);
    this.lifecycle.left(app, channel, left);
    if (vacated && app.history.length > 0) this.histories.vacated(app, channel.text);
  }

  /** See `Authority.publish`. Returns the id of the event if the channel keeps a history. */
  publish(publication: Publication): EventId | undefined {
    const { app, channel, idempotencyKey: key } = publication;
    const known = key === undefined ? undefined : this.keys.find(app.id, channel, key);
    if (known !== undefined) return known.id;
    const id = this.publishOnce(publication);
    if (key !== undefined) this.keys.add(app.id, channel, { key, id });
    return id;
  }

  private publishOnce(publication: Publication): EventId | undefined {
    const { app, channel, cause, stops } = publication;
    if (stops !== undefined) this.values.stop(`${app.id}/${channel}`, stops);
    const rule = cause === 'backend' ? historyRuleOf(app, channel) : undefined;
    if (rule === undefined) {
      this.rememberLast(publication, undefined);
      this.send(publication);
      return undefined;
    }
    const { except, trace, ask } = publication;
    const { id, frame } = this.histories.append(publication, rule);
    this.rememberLast(publication, id);
    this.send({ app, channel, makeFrame: () => frame, except, cause, trace, ask });
    return id;
  }

  /** Remembers an event of a cache channel. */
  private rememberLast({ app, channel, remember }: Publication, id: EventId | undefined): void {
    if (remember === undefined) return;
    const topic: Topic = `${app.id}/${channel}`;
    this.lifecycle.cached(topic);
    this.cache.put(topic, { ...remember, id, expiresAt: this.timers.now() + CACHE_TTL_MS });
  }

  /** See `Authority.append`. */
  append(append: Append): AppendOutcome {
    return this.values.append(append);
  }

  /** See `Authority.stopValue`. */
  stopValue(app: App, channel: ChannelName, id: string): AppendOutcome {
    return this.values.stop(topicOf(app, channel), id);
  }

  /** Forgets what is remembered of an app that was deleted. */
  forgetApp(appId: string): void {
    this.cache.forgetApp(appId);
    this.keys.forgetApp(appId);
    this.histories.forgetApp(appId);
    this.onlineUsers.forgetApp(appId);
  }

  /** See `Authority.signIn`. */
  signIn(loop: Loop, app: App, userId: string, held: number): boolean {
    const key = keyOf(app, userId);
    const known = this.users.get(key);
    const most = app.limits.connectionsPerUser;
    if (most > 0 && held + (known?.totalBut(loop) ?? 0) > most) return false;
    if (known === undefined) this.cameOnline(app, userId, loop, held);
    else known.state(loop, held);
    return true;
  }

  /** See `Authority.signOut`. */
  signOut(loop: Loop, app: App, userId: string, held: number): void {
    const key = keyOf(app, userId);
    const user = this.users.get(key);
    user?.state(loop, held);
    if (user?.total !== 0) return;
    this.users.delete(key);
    this.onlineUsers.left(app, userId, user.sinceMs);
  }

  private cameOnline(app: App, userId: string, loop: Loop, held: number): void {
    const user = new SignedInUser();
    user.state(loop, held);
    this.users.set(keyOf(app, userId), user);
    user.sinceMs = this.onlineUsers.came(app, userId);
  }

  /** Returns which of the users are online. A user who went offline a moment ago still counts as online. */
  online(app: App, userIds: readonly string[]): ReadonlySet<string> {
    const isOnline = (userId: string) =>
      this.users.has(keyOf(app, userId)) || this.onlineUsers.isLeaving(app, userId);
    return new Set(userIds.filter(isOnline));
  }

  /** See `Authority.userStatuses`. */
  userStatuses(app: App, userIds: readonly string[]): readonly UserStatus[] {
    return userIds.map((userId) => {
      const user = this.users.get(keyOf(app, userId));
      if (user === undefined) return this.onlineUsers.statusOf(app, userId);
      return { isOnline: true, sinceMs: user.sinceMs, lastSeenMs: undefined };
    });
  }

  /** The loop watches these users from now on. */
  watch(loop: Loop, app: App, userIds: readonly string[]): void {
    for (const userId of userIds) state(this.watchers, keyOf(app, userId), loop, 1);
  }

  /** The loop no longer watches these users. */
  unwatch(loop: Loop, app: App, userIds: readonly string[]): void {
    for (const userId of userIds) state(this.watchers, keyOf(app, userId), loop, 0);
  }

  members(app: App, channel: ChannelName): readonly Member[] {
    return this.holders.members(app, channel.text);
  }

  membersPage(app: App, channel: ChannelName, query: MembersQuery): MembersPage {
    return this.holders.membersPage(app, channel.text, query);
  }

  member(app: App, channel: ChannelName, userId: string): Member | undefined {
    return this.holders.member(app, channel.text, userId);
  }

  counts(app: App, channel: ChannelName): ChannelCounts {
    return this.holders.counts(app, channel.text);
  }

  cached(app: App, channel: ChannelName): CachedEvent | undefined {
    const event = this.cache.get(topicOf(app, channel));
    if (event === undefined) return undefined;
    const { name, expiresAt, id, value } = event;
    const data = value === undefined ? event.data : dataOf(value);
    const leftMs = expiresAt - this.timers.now();
    const cached = { name, data, leftMs, ...(value && { value: describe(value) }) };
    // If the history is lost, clients cannot resume after this event.
    const isNewest = id !== undefined && id === this.histories.newestOf(app, channel.text);
    return isNewest ? { ...cached, id } : cached;
  }

  history(app: App, channel: ChannelName, query: HistoryQuery): HistoryPage {
    return this.histories.page(app, channel.text, query);
  }

  forgetHistory(app: App, channel: ChannelName): void {
    this.histories.forget(app, channel.text);
    this.cache.remove(topicOf(app, channel));
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

  /** Returns the histories that must survive a restart. From now on, no event is numbered. */
  saveHistories(): Uint8Array {
    return encodeSaved(this.histories.save());
  }

  /**
   * Restores what `saveHistories` of all homes has returned. Throws, and restores nothing, if the data are not that.
   */
  restoreHistories(bytes: Uint8Array, options: RestoreOptions): void {
    this.histories.restore(decodeSaved(bytes), options);
  }

  /** Sends all delayed events now. For a stop of the server. */
  flush(): void {
    this.stays.flush();
    this.lifecycle.flush();
    this.onlineUsers.flush();
    this.histories.stop();
  }
}

function describe({ head: { id, length, hasEnded } }: GrowingValue): RememberedValue {
  return { id, length, hasEnded };
}

/** Whether a newcomer gets the channel's last events anyway, without the cached one. */
function hasEvents(history: FoundHistory | undefined): boolean {
  return history?.outcome === 'resumed' || (history?.frames.length ?? 0) > 0;
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

function stayKey(app: App, channel: ChannelName, userId: string): string {
  return `${topicOf(app, channel)}\n${userId}`;
}
