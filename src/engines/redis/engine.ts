import type { App } from '../../channels/app.ts';
import type { Append, AppendOutcome } from '../../channels/appending/append.ts';
import { type Broadcaster, broadcast } from '../../channels/broadcast.ts';
import type { ChannelName } from '../../channels/channel-name.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import type { HistoryPage, HistoryQuery } from '../../channels/history/page.ts';
import { MemberBatches } from '../../channels/lifecycle/member-batches.ts';
import type { WebhookEvents } from '../../channels/lifecycle/webhook-events.ts';
import type {
  AppDirectory,
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
} from '../../channels/ports.ts';
import { watchChannel, watchTopic } from '../../channels/users/watch-topic.ts';
import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import { every } from '../../runtime/time/every.ts';
import { UnreadableMessages } from '../../runtime/unreadable.ts';
import type { EngineFigures, EngineMeter } from '../engine-meter.ts';
import type { HistoryMeter } from '../history/histories.ts';
import { PARTITIONS } from '../partition.ts';
import { type RedisEngineServer, ServerUnusable } from './engine-server.ts';
import { EventOutbox } from './event-outbox.ts';
import { Follows } from './follows.ts';
import { forgetApp } from './forget-app.ts';
import { statedRules } from './history/rules.ts';
import { checkLayout, type Place, partitionNames } from './layout.ts';
import { RedisRefused } from './link/reply.ts';
import type { LoopParts } from './loop.ts';
import type { LoopBus } from './loop-bus.ts';
import { Partition } from './partition.ts';
import { persist } from './persist.ts';
import { Publisher } from './publisher.ts';
import { partitionIn, Queries } from './queries.ts';
import type { ClusterQuotas } from './quotas/cluster-quotas.ts';
import type { RedisLink } from './redis-link.ts';
import { FORGET_HISTORY } from './scripts/histories.ts';
import { TERMINATE, USERS } from './scripts/users.ts';
import { readMissed } from './topics/catch-up.ts';
import { RedisChannel } from './topics/channel.ts';
import { Topics } from './topics/topics.ts';
import { recordEnds } from './topics/transitions.ts';
import type { RedisUser } from './topics/user.ts';
import type { WaitingEvents } from './waiting-events.ts';
import { WebhookClaims } from './webhook-claims.ts';

export interface RedisEngineOptions {
  readonly apps: AppDirectory;
  readonly allApps: () => Iterable<App>;
  readonly timers: Timers;
  readonly log: Log;
  readonly meter: EngineMeter & HistoryMeter;
  /** The limit of all histories on all servers. Bytes. */
  readonly historyBytes: number;
  readonly webhooks: WebhookEvents;
  readonly broadcaster: Broadcaster;
  /** Closes all connections of this loop that are signed in as the user. */
  readonly terminate: (app: App, userId: string) => void;
  /** See `LoopParts`. */
  readonly eventsLost: LoopParts['eventsLost'];
  /** The prefix of all keys. See `layout.ts`. */
  readonly keyPrefix: string;
  /** Started and stopped with the engine. */
  readonly quotas: ClusterQuotas;
  /** Carries messages between loops over the first server; started with the engine. */
  readonly bus?: LoopBus | undefined;
  /**
   * The partitions are distributed over them in this order. Of a cluster, its slots. If the loops of this process share their links,
   * the list is repeated with one link to each server.
   */
  readonly servers: readonly RedisEngineServer[];
  /** How often the list of servers is in `servers`; 1 by default. */
  readonly linksPerServer?: number | undefined;
  /** The link in `servers` over which the bus sends; the first by default. */
  readonly busLink?: number | undefined;
}

/** The interval at which each partition renews its lease and sweeps. */
const TICK_MS = 2000;
const TICKED_AT_ONCE = 8;
/** How long a stopping node waits for its webhook events to be stored. */
const STORED_WAIT_MS = 500;
/** The limit of characters of changes that this node asks for later; see `OwnChanges`. */
const CHANGES_CHARACTERS_MAX = 4 * 1024 * 1024;

/** The longest time until missing messages are noticed: the silence, and the timeout of the probe. */
const DEAF_MAX_MS = 10_000;

interface Server {
  readonly link: RedisLink;
  readonly place: Place;
  readonly follows: Follows;
  readonly outbox: WaitingEvents;
  /** When messages were last missed. */
  gapAtMs: number;
  /** Whether it was logged that clients may have missed events since. */
  isLossLogged: boolean;
}

/**
 * The engine of several processes that share Redis. Scripts in Redis decide for each topic, and publish the
 * decisions.
 *
 * Each loop follows the streams of its topics, and sends its clients what arrives on them, including what it caused
 * itself. Statements may be repeated without harm, so one whose reply is lost is made again.
 */
export class RedisEngine implements Authority {
  private readonly options: RedisEngineOptions;
  private readonly loop: LoopParts;
  private readonly servers: Server[] = [];
  private readonly partitions: Partition[] = [];
  private readonly claims: WebhookClaims[] = [];
  private readonly topics: Topics;
  private readonly queries: Queries;
  private readonly publisher: Publisher;
  private nextTick = 0;
  private stopTicks: (() => void) | undefined;
  private rules: readonly string[] = [];

  constructor(options: RedisEngineOptions) {
    this.options = options;
    const { webhooks, broadcaster, terminate, eventsLost, meter, log, timers } = options;
    const unreadable = new UnreadableMessages({ log, meter, clock: timers });
    const send = broadcast.bind(undefined, broadcaster);
    const memberBatches = new MemberBatches(timers, send);
    const own = { webhooks, broadcaster, memberBatches, terminate };
    this.loop = { ...own, eventsLost, meter, unreadable };
    this.topics = new Topics(this.loop, (partition) => this.followsOf(partition));
    this.queries = new Queries(this.partitions);
    this.publisher = new Publisher(options);
  }

  /** Connects to all servers. Rejects with `ServerUnusable` if one cannot be reached or has another layout. */
  static async open(options: RedisEngineOptions): Promise<RedisEngine> {
    const engine = new RedisEngine(options);
    try {
      await engine.start();
    } catch (error) {
      await engine.close();
      throw error;
    }
    return engine;
  }

  async join(entry: Entry, entered: (entered: Entered) => void): Promise<boolean> {
    const channel = this.channelOf(entry.app, entry.channel);
    channel.begin(entry);
    try {
      return await this.persist(channel.partition, [channel.stream], () =>
        channel.enter(entry, entered),
      );
    } catch (error) {
      channel.failed(entry);
      this.topics.letGoOfChannel(channel);
      throw error;
    }
  }

  async leave(exit: Exit): Promise<void> {
    const channel = this.channelOf(exit.app, exit.channel);
    const left = channel.leave(exit);
    this.topics.letGoOfChannel(channel);
    await left;
    this.topics.letGoOfChannel(channel);
  }

  publish(publication: Publication): Promise<EventId | undefined> {
    const { app, channel } = publication;
    return this.publisher.publish(this.partitionOf(app, channel), publication);
  }

  append(append: Append): Promise<AppendOutcome> {
    const { app, channel } = append;
    return this.publisher.append(this.partitionOf(app, channel.text), append);
  }

  stopValue(app: App, channel: ChannelName, id: string): Promise<AppendOutcome> {
    return this.publisher.stop(this.partitionOf(app, channel.text), app, channel, id);
  }

  async signIn(app: App, userId: string, held: number): Promise<boolean> {
    const user = this.userOf(app, userId);
    user.begin();
    try {
      const isIn = await this.persist(user.partition, [user.stream], () => user.signIn(held));
      if (!isIn) this.topics.letGoOfUser(user);
      return isIn;
    } catch (error) {
      user.signInFailed();
      this.topics.letGoOfUser(user);
      throw error;
    }
  }

  async signOut(app: App, userId: string, held: number): Promise<void> {
    const user = this.userOf(app, userId);
    const signedOut = user.signOut(held);
    this.topics.letGoOfUser(user);
    await signedOut;
    this.topics.letGoOfUser(user);
  }

  async watch(app: App, userIds: readonly string[]): Promise<ReadonlySet<string>> {
    const users = userIds.map((userId) => this.userOf(app, userId));
    for (const user of users) user.watchers++;
    try {
      const unknown = users.filter(({ isKnown }) => !isKnown);
      const byPartition = [...Map.groupBy(unknown, ({ partition }) => partition)];
      await Promise.all(byPartition.map(([partition, some]) => this.readUsers(partition, some)));
    } catch (error) {
      this.stopWatching(users);
      throw error;
    }
    // This includes changes that arrived meanwhile.
    return new Set(users.filter(({ isOnline }) => isOnline).map(({ userId }) => userId));
  }

  async unwatch(app: App, userIds: readonly string[]): Promise<void> {
    this.stopWatching(userIds.map((userId) => this.userOf(app, userId)));
  }

  userStatuses(app: App, userIds: readonly string[]): Promise<readonly UserStatus[]> {
    return this.queries.userStatuses(app, userIds);
  }

  async terminate(app: App, userId: string): Promise<void> {
    const partition = this.partitionOf(app, watchChannel(userId));
    await this.publisher.callSoon(app, partition, TERMINATE, [watchTopic(app, userId)]);
  }

  members(app: App, channel: ChannelName): Promise<readonly Member[]> {
    return this.queries.members(app, channel);
  }

  membersPage(app: App, channel: ChannelName, query: MembersQuery): Promise<MembersPage> {
    return this.queries.membersPage(app, channel, query);
  }

  member(app: App, channel: ChannelName, userId: string): Promise<Member | undefined> {
    return this.queries.member(app, channel, userId);
  }

  counts(app: App, channel: ChannelName): Promise<ChannelCounts> {
    return this.queries.counts(app, channel);
  }

  cached(app: App, channel: ChannelName): Promise<CachedEvent | undefined> {
    return this.queries.cached(app, channel);
  }

  history(app: App, channel: ChannelName, page: HistoryQuery): Promise<HistoryPage> {
    return this.queries.history(app, channel, page);
  }

  async forgetHistory(app: App, { text }: ChannelName): Promise<void> {
    const partition = this.partitionOf(app, text);
    await this.publisher.callSoon(app, partition, FORGET_HISTORY, [`${app.id}/${text}`]);
  }

  channelCountOf(app: App): Promise<number> {
    return this.queries.channelCountOf(app);
  }

  channels(app: App, query: ChannelQuery): ChannelWalk {
    return this.queries.channels(app, query);
  }

  figures(): EngineFigures {
    const links = this.servers.map(({ link }) => link);
    const now = this.options.timers.now();
    const histories = this.partitions.map((partition) => partition.histories);
    return {
      masters: new Set(links.map(({ master }) => master)).size,
      // Several links may use one connection for commands.
      waiting: [
        ...new Set(this.servers.flatMap(({ link, outbox }) => [link.commands, outbox])),
      ].reduce((sum, { waiting }) => sum + waiting, 0),
      awaySeconds: Math.max(0, ...links.map(({ away }) => now - (away?.sinceMs ?? now))) / 1000,
      history: {
        events: histories.reduce((sum, { events }) => sum + events, 0),
        bytes: histories.reduce((sum, { bytes }) => sum + bytes, 0),
      },
    };
  }

  /** The settings of apps have changed. */
  appsChanged(): void {
    this.topics.appsChanged();
    const rules = statedRules(this.options.allApps());
    if (rules.join() === this.rules.join()) return;
    this.rules = rules;
    for (const partition of this.partitions) {
      // Otherwise they are stated when Redis is back.
      if (partition.isReady) partition.stateRules().catch(() => undefined);
    }
  }

  forgetApp(id: string): void {
    forgetApp(id, { ...this.options, ...this.loop.broadcaster, partitions: this.partitions });
  }

  /** Ends the leases of this node, then closes the connections. */
  async close(): Promise<void> {
    this.stopTicks?.();
    await Promise.all([this.options.quotas.stop(), this.claimsAreStored()]);
    // Before the leases end, which is answered after the events.
    for (const { outbox } of this.servers) outbox.sendAll();
    await Promise.all(this.partitions.map((partition) => partition.close()));
    await Promise.all(this.servers.map(({ link }) => link.close()));
  }

  /** Waits until the webhook events of this node are stored. Other nodes report those that are not stored in time. */
  private async claimsAreStored(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = this.options.timers.after(STORED_WAIT_MS, late.resolve);
    await Promise.race([Promise.all(this.claims.map((one) => one.whenIdle())), late.promise]);
    cancel();
  }

  /** Connects to all servers. Must be called first. Rejects with `ServerUnusable`. */
  async start(): Promise<void> {
    const { servers, timers, keyPrefix, log, apps, webhooks, meter, quotas } = this.options;
    this.rules = statedRules(this.options.allApps());
    for (const index of servers.keys()) {
      try {
        await this.openServer(index);
      } catch (error) {
        throw new ServerUnusable(index % this.serverCount, error);
      }
    }
    const rules = () => this.rules;
    const catchUp = (partition: Partition) => this.catchUp(partition);
    const onLost = (partition: Partition) => this.onLost(partition);
    const changesBudget = new FairBudget(CHANGES_CHARACTERS_MAX);
    for (let number = 0; number < PARTITIONS; number++) {
      const claims = new WebhookClaims({
        apps,
        webhooks,
        settle: (ids) => this.partitions[number]?.settle(ids),
      });
      const { link, place, outbox } = this.serverOf(number);
      const names = partitionNames(keyPrefix, { number, place });
      this.claims.push(claims);
      const report = (ids: readonly string[]) => claims.report(ids);
      const ended = (ends: readonly string[]) => recordEnds(apps, ends);
      const { serverName } = quotas;
      const parts = {
        link,
        outbox,
        timers,
        log,
        meter,
        serverName,
        report,
        ended,
        onLost,
        catchUp,
        rules,
      };
      this.partitions.push(new Partition({ number, ...names, ...parts, changesBudget }));
    }
    quotas.start({ partitions: this.partitions, usage: this.loop.broadcaster.usage, apps });
    await Promise.all(this.partitions.map((partition) => partition.recover()));
    const pauseMs = (TICK_MS * TICKED_AT_ONCE) / PARTITIONS;
    this.stopTicks = every(timers, pauseMs, () => this.tickSome());
  }

  private async openServer(index: number): Promise<void> {
    const { servers, timers, log, meter } = this.options;
    const server = servers[index];
    if (server === undefined) throw new Error(`There is no server ${index}`);
    const { place } = server;
    const link = await server.open({
      onAway: () => this.onServer(index, (partition) => partition.away()),
      onBack: () => {
        this.onServer(index, (partition) => void partition.recover());
        this.checkLayout(index).catch((error: unknown) => {
          if (error instanceof RedisRefused) log.error(error.message);
        });
      },
      onMessage: (stream, payload, loops) => {
        const isOfLoop = this.options.bus?.carries(stream) === true;
        try {
          if (isOfLoop) this.options.bus?.receive(payload);
          else this.topics.receive(stream, payload, loops);
        } catch (error) {
          this.loop.unreadable.drop(isOfLoop ? 'loop' : 'topic', stream, error);
        }
      },
      onGap: () => this.onGap(index),
    });
    const follows = new Follows(link, timers);
    const outbox = link.outbox ?? new EventOutbox({ link, meter });
    this.servers.push({ link, place, follows, outbox, gapAtMs: 0, isLossLogged: false });
    await this.checkLayout(index);
    if (index === this.busLink) await this.options.bus?.start(link, place);
  }

  private async checkLayout(index: number): Promise<void> {
    const { keyPrefix } = this.options;
    const servers = this.options.servers.slice(0, this.serverCount).map(({ name }) => name);
    const { link, place } = this.serverOf(index);
    await checkLayout(link, { keyPrefix, servers, index: index % this.serverCount, place });
  }

  /** Small groups of partitions tick together, so that the load is even. */
  private tickSome(): void {
    for (let n = 0; n < TICKED_AT_ONCE; n++) {
      const partition = this.partitions[(this.nextTick + n) % PARTITIONS];
      if (partition !== undefined) void this.tick(partition);
    }
    this.nextTick += TICKED_AT_ONCE;
  }

  private async tick(partition: Partition): Promise<void> {
    const unsure = [...partition.unsure];
    await partition.tick();
    this.topics.letGo(unsure);
  }

  private onGap(index: number): void {
    this.options.meter.count('engineGaps');
    const server = this.serverOf(index);
    if (index === this.busLink) this.options.bus?.missed();
    server.gapAtMs = this.options.timers.now();
    server.isLossLogged = false;
    for (const topic of this.topics.followedBy(server.follows)) topic.missed();
  }

  /** Who can resume must not get a later event: its id says nothing about what was lost with the histories. */
  private onLost(partition: Partition): void {
    const lost = [...partition.topics]
      .filter((topic) => topic instanceof RedisChannel)
      .filter(({ mayResume }) => mayResume)
      .map((channel) => channel.lostEvents('resuming'));
    if (lost.length > 0) this.loop.eventsLost(lost);
  }

  private async catchUp(partition: Partition): Promise<void> {
    // By now, the departures during the outage have been stated.
    this.topics.letGo(partition.topics);
    const fill = await readMissed(partition, this.loop.eventsLost);
    const server = this.serverOf(partition.number);
    const missedMs = this.options.timers.now() - server.gapAtMs + DEAF_MAX_MS;
    const { hasLostData } = partition;
    const lost = fill(hasLostData ? Number.POSITIVE_INFINITY : missedMs);
    if (lost === 0 || server.isLossLogged) return;
    server.isLossLogged = true;
    // Lost data has a metric of its own.
    if (!hasLostData) this.options.meter.count('engineLosses');
    this.options.log.warn('Clients may have missed events and are closed, so that they come back', {
      seconds: Math.round(missedMs / 1000),
      why: hasLostData
        ? 'Redis was restarted or replaced: it may lack what was published last'
        : 'Redis has forgotten some of what was published meanwhile',
    });
  }

  private onServer(index: number, run: (partition: Partition) => void): void {
    for (const [number, partition] of this.partitions.entries()) {
      if (number % this.options.servers.length === index) run(partition);
    }
  }

  private persist<T>(
    partition: Partition,
    streams: readonly string[],
    ask: () => Promise<T>,
  ): Promise<T> {
    const { timers, meter } = this.options;
    return persist({ timers, meter, follows: this.followsOf(partition), partition, streams, ask });
  }

  private async readUsers(partition: Partition, users: readonly RedisUser[]): Promise<void> {
    const topics = users.map(({ topic }) => topic);
    const streams = users.map(({ stream }) => stream);
    const [number, ...states] = await this.persist(partition, streams, () =>
      partition.call(USERS, topics),
    );
    for (const [n, user] of users.entries()) user.take(Number(number), states[n]);
  }

  private stopWatching(users: readonly RedisUser[]): void {
    for (const user of users) {
      user.watchers--;
      if (user.watchers === 0) user.unwatched();
      this.topics.letGoOfUser(user);
    }
  }

  private get serverCount(): number {
    const { servers, linksPerServer = 1 } = this.options;
    return servers.length / linksPerServer;
  }

  private get busLink(): number {
    return this.options.busLink ?? 0;
  }

  private channelOf(app: App, channel: ChannelName): RedisChannel {
    return this.topics.channel(this.partitionOf(app, channel.text), app, channel);
  }

  private userOf(app: App, userId: string): RedisUser {
    return this.topics.user(this.partitionOf(app, watchChannel(userId)), app, userId);
  }

  private partitionOf(app: App, channel: string): Partition {
    return partitionIn(this.partitions, app, channel);
  }

  private serverOf(partition: number): Server {
    const server = this.servers[partition % this.options.servers.length];
    if (server === undefined) throw new Error('The engine has not started');
    return server;
  }

  private followsOf(partition: Partition): Follows {
    return this.serverOf(partition.number).follows;
  }
}
