import type { App } from '../../channels/app.ts';
import type { Append, AppendOutcome } from '../../channels/appending/append.ts';
import { type Broadcaster, broadcast } from '../../channels/broadcast.ts';
import type { ChannelName, ChannelText } from '../../channels/channel-name.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import type { HistoryPage, HistoryQuery } from '../../channels/history/page.ts';
import type { WebhookEvents } from '../../channels/lifecycle/webhook-events.ts';
import { after, type MaybePromise, mapAll, undoIfFailed } from '../../channels/maybe-promise.ts';
import type {
  AppDirectory,
  Authority,
  Broadcast,
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
} from '../../channels/ports.ts';
import { watchChannel } from '../../channels/users/watch-topic.ts';
import type { Clock, Timers } from '../../runtime/ports.ts';
import type { EngineFigures, EngineMeter } from '../engine-meter.ts';
import type { HistoryMeter } from '../history/histories.ts';
import type { HoldersWalk } from '../holders.ts';
import { Home } from '../home.ts';
import { partitionOf } from '../partition.ts';
import type { RememberedMax } from '../remembered.ts';
import type { Loop, Shares } from '../shares.ts';
import { Congestion } from './congestion.ts';
import type { EngineLinks } from './engine-links.ts';
import { TopicHomeServer } from './home-server.ts';
import type { EngineMessage, HomeAnswerTo, Question } from './messages.ts';
import { Questions } from './questions.ts';
import { RemotePublisher } from './remote-publisher.ts';
import { ThreadsWalk } from './walk.ts';
import { PendingWatches } from './watches.ts';

export interface ThreadsEngineOptions {
  /** The number of this loop, and of all loops. */
  readonly loop: Loop;
  readonly loops: number;
  readonly apps: AppDirectory;
  readonly timers: Timers;
  /** A monotonic clock. */
  readonly monotonic: Clock;
  readonly meter: EngineMeter & HistoryMeter;
  readonly historyBytes: number;
  readonly remembered?: RememberedMax | undefined;
  readonly webhooks: WebhookEvents;
  readonly broadcaster: Broadcaster;
  /** Closes all connections of this loop that are signed in as the user. */
  readonly terminate: (app: App, userId: string) => void;
  readonly others: EngineLinks;
}

/**
 * The engine of several realtime loops in one process. The home of each topic is one of the loops, chosen by a hash
 * of the name. Statements and questions of other loops are sent to it as messages, and its decisions come back as
 * messages.
 *
 * Messages between threads are never lost, and a thread that dies ends the process, so nothing here has a timeout.
 */
export class ThreadsEngine implements Authority {
  readonly home: Home;
  private readonly loop: Loop;
  private readonly loops: readonly Loop[];
  private readonly apps: AppDirectory;
  private readonly broadcaster: Broadcaster;
  private readonly endUser: (app: App, userId: string) => void;
  private readonly others: EngineLinks;
  /** Questions to the homes on other loops, by loop; none for this loop. */
  private readonly questions: readonly Questions[];
  private readonly server: TopicHomeServer;
  private readonly congestion: Congestion;
  private readonly remote: RemotePublisher;
  private readonly watches = new PendingWatches();
  private walks = 0;
  /** What this loop states while it catches up with the others. */
  private delayed: (() => void)[] | undefined;

  constructor(options: ThreadsEngineOptions) {
    const { loop, loops, apps, timers, webhooks, broadcaster, terminate, others } = options;
    const { monotonic, meter, historyBytes, remembered } = options;
    this.loop = loop;
    this.loops = Array.from({ length: loops }, (_, number) => number);
    this.apps = apps;
    this.broadcaster = broadcaster;
    this.endUser = terminate;
    this.others = others;
    this.questions = this.loops.map(
      (to) => new Questions({ send: (message) => others.send(to, message), monotonic, meter }),
    );
    this.home = new Home({
      timers,
      monotonic,
      webhooks,
      meter,
      homes: loops,
      historyBytes,
      remembered,
      send: (sent) => this.fanOut(this.home.loopsOf(sent.app, sent.channel), sent),
      notifyWatchers: (sent, userId, isOnline) => this.notifyWatchers(sent, userId, isOnline),
    });
    this.congestion = new Congestion({ loop, loops, others, timers });
    const { congestion, questions } = this;
    this.remote = new RemotePublisher({ others, questions, congestion });
    this.server = new TopicHomeServer({
      home: this.home,
      apps,
      loops: this.loops,
      // Not now: this loop may be stating something else about a connection that is closed.
      terminate: (app, userId) => queueMicrotask(() => this.endEverywhere(app, userId)),
      send: (to, message) => others.send(to, message),
    });
  }

  /** Handles a message of another loop. */
  receive(from: Loop, message: EngineMessage): void {
    switch (message[0]) {
      case 'broadcast': {
        const [, appId, channel, frame, except, cause, trace, ask] = message;
        const app = this.apps.byId(appId);
        if (app === undefined) return;
        const makeFrame = () => frame;
        broadcast(this.broadcaster, { app, channel, makeFrame, except, cause, trace, ask });
        return;
      }
      case 'user': {
        const [, appId, userId, isOnline, frame] = message;
        const app = this.apps.byId(appId);
        if (app === undefined) return;
        this.watches.changed(app, userId, isOnline);
        const channel = watchChannel(userId);
        broadcast(this.broadcaster, { app, channel, makeFrame: () => frame });
        return;
      }
      case 'end': {
        const app = this.apps.byId(message[1]);
        if (app !== undefined) this.endUser(app, message[2]);
        return;
      }
      case 'done':
        this.questions[from]?.done(message[1], message[2]);
        return;
      case 'answer':
        this.questions[from]?.done(message[1], message[3]);
        this.questions[from]?.answer(message[2]);
        return;
      case 'failed':
        this.questions[from]?.done(message[1], message[3]);
        this.questions[from]?.failed(message[2]);
        return;
      case 'post':
        return this.server.post(message);
      default:
        this.server.answer(from, message);
    }
  }

  figures(): EngineFigures {
    const waiting = this.questions.reduce((sum, questions) => sum + questions.waiting, 0);
    return { waiting, awaySeconds: 0 };
  }

  /** Called after each batch of messages of another loop. */
  received(from: Loop): void {
    // Acknowledges what needs no answer; delayed while the loops are congested.
    void after(this.congestion.pass(), () => this.server.flush(from));
  }

  join(entry: Entry, entered: (entered: Entered) => void): MaybePromise<boolean> {
    const { app, channel, held, member, newcomer, history } = entry;
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.join(this.loop, entry, entered));
    const { text } = channel;
    const question = [
      'join',
      app.id,
      text,
      held,
      newcomer.socketId,
      member?.userId,
      member?.userInfo,
    ] as const;
    return this.ask(home, history === undefined ? question : [...question, history], (answer) => {
      if (answer === false) return false;
      entered(answer);
      return true;
    });
  }

  leave(exit: Exit): MaybePromise<void> {
    const { app, channel, held, userId, graceSeconds } = exit;
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.leave(this.loop, exit));
    const question = ['leave', app.id, channel.text, held, userId] as const;
    const asked = graceSeconds === undefined ? question : ([...question, graceSeconds] as const);
    return this.ask(home, asked, nothing);
  }

  publish(publication: Publication): MaybePromise<EventId | undefined> {
    const home = this.homeOf(publication.app, publication.channel);
    return home === this.loop
      ? this.here(() => this.publishHere(publication))
      : this.remote.publish(home, publication);
  }

  private publishHere(publication: Publication): MaybePromise<EventId | undefined> {
    const { app, channel, ask, sentTo } = publication;
    const id = this.home.publish(publication);
    sentTo?.(ask === undefined ? 0 : this.home.loopCountOf(app, channel));
    return after(this.congestion.pass(), () => id);
  }

  append(append: Append): MaybePromise<AppendOutcome> {
    const { app, channel, name, piece, bytesMax, trace } = append;
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) {
      return this.here(() => {
        const outcome = this.home.append(append);
        return after(this.congestion.pass(), () => outcome);
      });
    }
    return this.ask(home, ['append', app.id, channel.text, name, piece, bytesMax, trace], same);
  }

  stopValue(app: App, channel: ChannelName, id: string): MaybePromise<AppendOutcome> {
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.stopValue(app, channel, id));
    return this.ask(home, ['stop-value', app.id, channel.text, id], same);
  }

  signIn(app: App, userId: string, held: number): MaybePromise<boolean> {
    const home = this.homeOfUser(app, userId);
    if (home === this.loop) return this.here(() => this.home.signIn(this.loop, app, userId, held));
    if (app.limits.connectionsPerUser > 0) {
      return this.ask(home, ['take-place', app.id, userId, held], same);
    }
    return this.ask(home, ['sign-in', app.id, userId, held], () => true);
  }

  signOut(app: App, userId: string, held: number): MaybePromise<void> {
    const home = this.homeOfUser(app, userId);
    if (home === this.loop) return this.here(() => this.home.signOut(this.loop, app, userId, held));
    return this.ask(home, ['sign-out', app.id, userId, held], nothing);
  }

  watch(app: App, userIds: readonly string[]): MaybePromise<ReadonlySet<string>> {
    const watch = this.watches.begin(app, userIds);
    const ask = ([home, ids]: readonly [Loop, readonly string[]]) => {
      if (home === this.loop) {
        return this.here(() => {
          this.home.watch(this.loop, app, ids);
          watch.addAnswer(ids, this.home.online(app, ids));
        });
      }
      return this.ask(home, ['watch', app.id, ids], (answer) =>
        watch.addAnswer(ids, new Set(answer)),
      );
    };
    const asked = undoIfFailed(
      () => mapAll(this.byHome(app, userIds), ask),
      () => void this.watches.end(watch),
    );
    return after(asked, () => this.watches.end(watch));
  }

  unwatch(app: App, userIds: readonly string[]): MaybePromise<void> {
    const unwatched = this.watches.unwatch(app, userIds);
    const stated = mapAll(this.byHome(app, unwatched), ([home, ids]) =>
      home === this.loop
        ? this.here(() => this.home.unwatch(this.loop, app, ids))
        : this.ask(home, ['unwatch', app.id, ids], nothing),
    );
    return after(stated, nothing);
  }

  userStatuses(app: App, userIds: readonly string[]): MaybePromise<readonly UserStatus[]> {
    const asked = mapAll(this.byHome(app, userIds), ([home, ids]) => {
      const found = (statuses: readonly UserStatus[]) =>
        ids.map((userId, n) => [userId, statuses[n]] as const);
      if (home === this.loop) return this.here(() => found(this.home.userStatuses(app, ids)));
      return this.ask(home, ['user-statuses', app.id, ids], found);
    });
    return after(asked, (found) => {
      const byUser = new Map(found.flat());
      return userIds.map((userId) => byUser.get(userId) ?? UNKNOWN_USER);
    });
  }

  terminate(app: App, userId: string): MaybePromise<void> {
    const home = this.homeOfUser(app, userId);
    if (home === this.loop) return this.here(() => this.endEverywhere(app, userId));
    return this.ask(home, ['terminate', app.id, userId], nothing);
  }

  members(app: App, channel: ChannelName): MaybePromise<readonly Member[]> {
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.members(app, channel));
    return this.ask(home, ['members', app.id, channel.text], same);
  }

  membersPage(app: App, channel: ChannelName, query: MembersQuery): MaybePromise<MembersPage> {
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.membersPage(app, channel, query));
    return this.ask(home, ['members-page', app.id, channel.text, query], same);
  }

  member(app: App, channel: ChannelName, userId: string): MaybePromise<Member | undefined> {
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.member(app, channel, userId));
    return this.ask(home, ['member', app.id, channel.text, userId], same);
  }

  counts(app: App, channel: ChannelName): MaybePromise<ChannelCounts> {
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.counts(app, channel));
    return this.ask(home, ['counts', app.id, channel.text], same);
  }

  cached(app: App, channel: ChannelName): MaybePromise<CachedEvent | undefined> {
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.cached(app, channel));
    return this.ask(home, ['cached', app.id, channel.text], same);
  }

  history(app: App, channel: ChannelName, query: HistoryQuery): MaybePromise<HistoryPage> {
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.history(app, channel, query));
    return this.ask(home, ['history', app.id, channel.text, query], same);
  }

  forgetHistory(app: App, channel: ChannelName): MaybePromise<void> {
    const home = this.homeOf(app, channel.text);
    if (home === this.loop) return this.here(() => this.home.forgetHistory(app, channel));
    return this.ask(home, ['forget-history', app.id, channel.text], nothing);
  }

  channelCountOf(app: App): MaybePromise<number> {
    const counted = mapAll(this.loops, (home) =>
      home === this.loop
        ? this.here(() => this.home.channelCountOf(app))
        : this.ask(home, ['channel-count', app.id], same),
    );
    return after(counted, (counts) => counts.reduce((sum, count) => sum + count, 0));
  }

  channels(app: App, query: ChannelQuery): ChannelWalk {
    const number = this.walks++;
    const { prefix } = query;
    let walkHere: HoldersWalk | undefined;
    return new ThreadsWalk(this.loops.length, query.after, (home, position, limit) => {
      if (home === this.loop) {
        walkHere ??= this.home.channels(app, { prefix, after: position });
        const walk = walkHere;
        return this.here(() => walk.page(limit));
      }
      return this.ask(home, ['page', app.id, number, prefix, position, limit], same);
    });
  }

  /** Sends a broadcast to the loops that hold subscriptions of its channel. */
  private fanOut(loops: Shares | undefined, sent: Broadcast): void {
    const { app, channel, makeFrame, except, cause, trace, ask } = sent;
    let frame: string | undefined;
    loops?.forEachLoop((to) => {
      if (to === this.loop) return broadcast(this.broadcaster, sent);
      frame ??= makeFrame();
      const message = ['broadcast', app.id, channel, frame, except, cause] as const;
      if (ask !== undefined) this.others.send(to, [...message, trace, ask]);
      else this.others.send(to, trace === undefined ? message : [...message, trace]);
    });
  }

  private notifyWatchers(sent: Broadcast, userId: string, isOnline: boolean): void {
    const { app, makeFrame } = sent;
    this.home.loopsWatching(app, userId)?.forEachLoop((to) => {
      if (to === this.loop) {
        this.watches.changed(app, userId, isOnline);
        broadcast(this.broadcaster, sent);
      } else {
        this.others.send(to, ['user', app.id, userId, isOnline, makeFrame()]);
      }
    });
  }

  /** Closes all connections of a user whose home is here. */
  private endEverywhere(app: App, userId: string): void {
    this.home.loopsWith(app, userId)?.forEachLoop((to) => {
      if (to === this.loop) this.endUser(app, userId);
      else this.others.send(to, ['end', app.id, userId]);
    });
  }

  private ask<Asked extends Question, T>(
    home: Loop,
    question: Asked,
    answered: (answer: HomeAnswerTo<Asked[0]>) => T,
  ): Promise<T> {
    const questions = this.questions[home];
    if (questions === undefined) throw new Error(`There is no loop ${home}`);
    return questions.ask(question, answered);
  }

  /**
   * Runs something at the home on this loop, behind all that other loops had posted before: what they have answered already
   * comes first.
   */
  private here<T>(run: () => MaybePromise<T>): MaybePromise<T> {
    const { delayed, others } = this;
    if (delayed !== undefined) {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      delayed.push(() => void Promise.try(run).then(resolve, reject));
      return promise;
    }
    if (!others.isBehind()) return run();
    // What comes before may close connections, whose statements have to come after this one.
    const later: (() => void)[] = [];
    this.delayed = later;
    try {
      others.catchUp();
      return run();
    } finally {
      this.delayed = undefined;
      for (const statement of later) statement();
    }
  }

  /** Whether this loop is the home of a channel. */
  isHomeOf(app: App, channel: ChannelText): boolean {
    return this.homeOf(app, channel) === this.loop;
  }

  /** Returns the loop that is the home of a topic. */
  private homeOf(app: App, channel: string): Loop {
    return partitionOf(app, channel) % this.loops.length;
  }

  private homeOfUser(app: App, userId: string): Loop {
    return this.homeOf(app, watchChannel(userId));
  }

  private byHome(app: App, userIds: readonly string[]): readonly (readonly [Loop, string[]])[] {
    return [...Map.groupBy(userIds, (userId) => this.homeOfUser(app, userId))];
  }
}

/** Nobody has seen the user. */
const UNKNOWN_USER: UserStatus = { isOnline: false, sinceMs: undefined, lastSeenMs: undefined };

function same<T>(answer: T): T {
  return answer;
}

function nothing(): undefined {
  return undefined;
}
