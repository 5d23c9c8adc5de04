import type { LiveFigures } from '../../admin/admin.ts';
import type { App } from '../../channels/app.ts';
import { type ChannelName, parseChannelName } from '../../channels/channel-name.ts';
import { historyRuleOf } from '../../channels/history/history-rule.ts';
import { EMPTY_PAGE } from '../../channels/history/page.ts';
import type { LiveAsks } from '../../channels/live/live-asks.ts';
import { after, type MaybePromise, mapAll } from '../../channels/maybe-promise.ts';
import type { Authority } from '../../channels/ports.ts';
import type { ProblemBook } from '../../channels/problems/problem-book.ts';
import type { LocalChannels } from '../../channels/subscribing/local-channels.ts';
import type { Usage } from '../../channels/usage/usage.ts';
import type { EngineFigures } from '../../engines/engine-meter.ts';
import { KeptWalks } from '../../engines/kept-walks.ts';
import type { LoopBus } from '../../engines/redis/loop-bus.ts';
import type { ClusterQuotas } from '../../engines/redis/quotas/cluster-quotas.ts';
import type { LoopDelay } from '../../observability/loop-delay.ts';
import type { MetricValues, TableMeter } from '../../observability/meter.ts';
import type { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { BodyIntake } from '../../transports/body-intake.ts';
import type { ChannelsApi } from '../../transports/channels-api/api.ts';
import { ApiRefusal } from '../../transports/channels-api/problems.ts';
import type { ClientConnections } from '../../transports/clients/connections.ts';
import type { SlowConsumers } from '../../transports/clients/frames/slow-consumers.ts';
import type { Inspector } from '../../transports/clients/inspector.ts';
import type { HttpSessions } from '../../transports/http-fallback/sessions.ts';
import type { UnreadAnswers } from '../../transports/unread-answers.ts';
import type { LoopName } from '../link/loop-name.ts';
import type { ChannelState, Question, Questions, SendAnswer } from '../link/messages.ts';
import { type MemoryShares, type ShareName, shareLabels } from '../memory/shares.ts';
import type { ChannelCounter } from './engine/engine.ts';

/** The shares whose contents are counted at no cost. */
type MeasuredShare = Extract<
  ShareName,
  'connections' | 'subscriptions' | 'waitingBytes' | 'historyBytes' | 'unfinishedBytes'
>;

export interface FiguresOptions {
  /** The label of this loop in metrics. */
  readonly loopName: LoopName;
  readonly apps: MemoryAppDirectory;
  readonly connections: ClientConnections;
  /** The connections over HTTP requests. */
  readonly sessions: Pick<HttpSessions, 'size'>;
  readonly authority: Authority;
  readonly counter: ChannelCounter;
  readonly inspector: Inspector;
  readonly live: Pick<LiveAsks, 'ask'>;
  readonly problems: ProblemBook;
  readonly api: Pick<ChannelsApi, 'send' | 'histories'>;
  readonly unread: Pick<UnreadAnswers, 'bytes'>;
  readonly bodies: readonly Pick<BodyIntake, 'reservedBytes'>[];
  readonly channels: Pick<LocalChannels, 'subscriptions'>;
  readonly slowConsumers: Pick<SlowConsumers, 'waitingBytes'>;
  /** What one of the unit of each share of the memory takes. */
  readonly unitCosts: MemoryShares;
  /** The usage of apps on all servers, if there are several. */
  readonly cluster: ClusterQuotas | undefined;
  /** The bus to the loops of other servers, if there are any. */
  readonly bus: Pick<LoopBus, 'notify'> | undefined;
  readonly serverName: string;
  /** Whether this is the first loop of its process. */
  readonly isFirst: boolean;
  readonly engineFigures: () => EngineFigures;
  readonly usage: Usage;
  readonly meter: TableMeter;
  readonly loopDelay: LoopDelay;
  /** Log lines that were dropped so far. */
  readonly logLinesDropped: () => number;
}

/** The limit of members in one answer. */
const MEMBERS_MAX = 1_000;

const EMPTY_CHANNEL: ChannelState = {
  counts: { subscriptions: 0, users: 0 },
  members: [],
  cached: undefined,
};

/** Answers the questions of the background loop about this loop. */
export class Figures {
  private readonly options: FiguresOptions;
  private readonly walks: KeptWalks;

  constructor(options: FiguresOptions) {
    this.options = options;
    this.walks = new KeptWalks(options.authority);
  }

  answer(question: Question): MaybePromise<Questions[Question['what']]['answer']> {
    switch (question.what) {
      case 'metrics':
        return this.metrics();
      case 'share-figures':
        return after(this.options.cluster?.share(), () => 'shared');
      case 'live-figures':
        return this.options.cluster === undefined ? this.ownFigures() : this.figuresOfCluster();
      case 'open-connections':
        return this.openConnections();
      case 'live-channels':
        return this.liveChannels(question);
      case 'send':
        return this.send(question);
      case 'ask-live':
        return this.options.live.ask(this.options.apps.byId(question.appId), question.event);
      case 'problems':
        return this.options.problems.of(question.appId);
      case 'key-uses':
        return this.options.apps.byId(question.appId)?.keyUses?.shown((key) => key) ?? [];
      case 'inspect-channel':
        return this.inspectChannel(question);
      case 'read-history':
        return this.ofKept(question, EMPTY_PAGE, (app, channel) =>
          this.options.api.histories.read(app, channel, question.query),
        );
      case 'forget-history':
        return this.ofKept(question, 'forgotten', (app, channel) =>
          after(this.options.authority.forgetHistory(app, channel), () => 'forgotten'),
        );
      case 'find-connections':
        return this.ofApp(question, (app) => this.options.inspector.find(app, question));
      case 'inspect-connection':
        return this.ofApp(question, (app) =>
          this.options.inspector.details(app, question.socketId),
        );
      case 'end-connection':
        return (
          this.ofApp(question, (app) => this.options.inspector.end(app, question.socketId)) ?? false
        );
      case 'notify-servers':
        return this.options.bus?.notify(question.to, question.text);
      case 'ping':
        return 'pong';
      default:
        return question satisfies never;
    }
  }

  private send({ appId, json }: Questions['send']['ask']): MaybePromise<SendAnswer> {
    return after(this.options.api.send(appId, json), (sent) =>
      sent instanceof ApiRefusal ? { refused: sent.problem, why: sent.text } : sent,
    );
  }

  /** The app may have been removed since the question was sent. */
  private ofApp<T>({ appId }: { readonly appId: string }, answer: (app: App) => T): T | undefined {
    const app = this.options.apps.byId(appId);
    return app && answer(app);
  }

  /** Returns `otherwise` for a channel without a history. */
  private ofKept<T>(
    { appId, channel }: Questions['forget-history']['ask'],
    otherwise: T,
    answer: (app: App, channel: ChannelName) => MaybePromise<T>,
  ): MaybePromise<T> {
    const app = this.options.apps.byId(appId);
    const parsed = parseChannelName(channel);
    if (app === undefined || !parsed.ok) return otherwise;
    const isKept = historyRuleOf(app, parsed.channel.text) !== undefined;
    return isKept ? answer(app, parsed.channel) : otherwise;
  }

  private inspectChannel({
    appId,
    channel,
  }: Questions['inspect-channel']['ask']): MaybePromise<ChannelState> {
    const { apps, authority } = this.options;
    const app = apps.byId(appId);
    const parsed = parseChannelName(channel);
    if (app === undefined || !parsed.ok) return EMPTY_CHANNEL;
    const { channel: name } = parsed;
    return after(authority.counts(app, name), (counts) =>
      after(name.kind === 'presence' ? authority.members(app, name) : [], (members) =>
        after(name.cached ? authority.cached(app, name) : undefined, (cached) => ({
          counts,
          members: members.slice(0, MEMBERS_MAX),
          cached,
        })),
      ),
    );
  }

  private metrics(): MetricValues {
    const { loopName, meter, connections, counter, loopDelay, logLinesDropped, engineFigures } =
      this.options;
    meter.set('connections', connections.size);
    meter.set('fallbackConnections', this.options.sessions.size);
    meter.set('unreadAnswerBytes', this.options.unread.bytes);
    meter.set('channels', counter.channelCount());
    meter.set('loopDelay', loopDelay.longestSeconds(), loopName);
    meter.set('logLinesDropped', logLinesDropped(), loopName);
    const { waiting, awaySeconds, history } = engineFigures();
    meter.set('engineUp', awaySeconds === 0 ? 1 : 0, loopName);
    meter.set('engineAway', awaySeconds, loopName);
    meter.set('engineWaiting', waiting);
    meter.set('historyEvents', history?.events ?? 0);
    meter.set('historyBytes', history?.bytes ?? 0);
    this.measureMemory(history?.bytes ?? 0);
    return meter.snapshot();
  }

  /** Measures what shares of the memory are in use. */
  private measureMemory(historyBytes: number): void {
    const { meter, connections, channels, slowConsumers, bodies, unread, unitCosts } = this.options;
    const use = (share: MeasuredShare, amount: number) =>
      meter.set('memoryShareUsed', Math.round(amount * unitCosts[share]), shareLabels[share]);
    use('connections', connections.size);
    use('subscriptions', channels.subscriptions);
    use('waitingBytes', slowConsumers.waitingBytes);
    use('historyBytes', historyBytes);
    const reserved = bodies.reduce((sum, { reservedBytes }) => sum + reservedBytes, unread.bytes);
    // The cost is that of all four kinds together.
    use('unfinishedBytes', reserved / 4);
  }

  private ownFigures(): MaybePromise<LiveFigures> {
    const { apps, connections, counter, usage, serverName } = this.options;
    const open = Array.from(connections.openByApp(), ([app, count]) => ({
      appId: app.id,
      connections: count,
    }));
    const activity = mapAll([...apps.all()], (app) =>
      after(counter.channelCountOf(app), (channels) => {
        const { backend, clients } = usage.todayOf(app);
        return {
          appId: app.id,
          connections: connections.openOf(app),
          channels,
          messages: backend + clients,
          clientMessages: clients,
        };
      }),
    );
    return after(activity, (all) => ({ apps: all, servers: [{ name: serverName, apps: open }] }));
  }

  /** Every loop would return the same, so only the first one answers. */
  private async figuresOfCluster(): Promise<LiveFigures> {
    const { isFirst, cluster, apps, usage } = this.options;
    if (cluster === undefined || !isFirst) return { apps: [], servers: [] };
    const figures = await cluster.figures([...apps.all()], usage.today());
    return {
      apps: figures.apps,
      servers: figures.servers.map(({ name, connections }) => ({
        name,
        apps: Array.from(connections, ([appId, count]) => ({ appId, connections: count })),
      })),
    };
  }

  private openConnections(): MaybePromise<Questions['open-connections']['answer']> {
    const { cluster, connections, isFirst } = this.options;
    if (cluster === undefined) {
      return Array.from(connections.openByApp(), ([app, open]) => [app.id, open] as const);
    }
    // Every loop would return the same.
    return isFirst ? cluster.openConnections() : [];
  }

  private liveChannels({
    appId,
    ...query
  }: Questions['live-channels']['ask']): MaybePromise<Questions['live-channels']['answer']> {
    const app = this.options.apps.byId(appId);
    if (app === undefined) return { channels: [], next: undefined };
    const page = this.walks.page(app, query);
    return after(page, ({ channels, next }) => ({
      channels: channels.map(([name, { subscriptions, users }]) => ({
        name,
        subscriptions,
        users,
      })),
      next,
    }));
  }
}
