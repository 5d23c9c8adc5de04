import type { ChannelState, LiveFigures, SendAnswer } from '../../asking/facts/live.ts';
import type { AnswerTo, LoopAnswers, QueryOf } from '../../asking/questions.ts';
import type { App } from '../../channels/app.ts';
import { type ChannelName, parseChannelName } from '../../channels/channel-name.ts';
import { historyRuleOf } from '../../channels/history/history-rule.ts';
import { EMPTY_PAGE } from '../../channels/history/page.ts';
import type { LiveAsks } from '../../channels/live/live-asks.ts';
import { after, type MaybePromise, mapAll } from '../../channels/maybe-promise.ts';
import type { Authority } from '../../channels/ports.ts';
import type { ProblemBook } from '../../channels/problems/problem-book.ts';
import type { Usage } from '../../channels/usage/usage.ts';
import { KeptWalks } from '../../engines/kept-walks.ts';
import type { LoopBus } from '../../engines/redis/loop-bus.ts';
import type { ClusterQuotas } from '../../engines/redis/quotas/cluster-quotas.ts';
import type { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { ChannelsApi } from '../../transports/channels-api/api.ts';
import { type ApiProblem, ApiRefusal } from '../../transports/channels-api/problems.ts';
import type { ClientConnections } from '../../transports/clients/connections.ts';
import type { Inspector } from '../../transports/clients/inspector.ts';
import { type LoopMeasures, measureLoop, memoryUses } from './loop-metrics.ts';

export interface LoopAnswersOptions extends LoopMeasures {
  readonly apps: MemoryAppDirectory;
  readonly connections: ClientConnections;
  readonly authority: Authority;
  readonly inspector: Inspector;
  readonly live: Pick<LiveAsks, 'ask'>;
  readonly problems: ProblemBook;
  readonly api: Pick<ChannelsApi, 'send' | 'histories'>;
  /** The usage of apps on all servers, if there are several. */
  readonly cluster: ClusterQuotas | undefined;
  /** The bus to the loops of other servers, if there are any. */
  readonly bus: Pick<LoopBus, 'notify'> | undefined;
  readonly serverName: string;
  /** Whether this is the first loop of its process. */
  readonly isFirst: boolean;
  readonly usage: Usage;
}

/** The limit of members in one answer. */
const MEMBERS_MAX = 1_000;

const EMPTY_CHANNEL: ChannelState = {
  counts: { subscriptions: 0, users: 0 },
  members: [],
  cached: undefined,
};

/** How refusals of the HTTP API appear to operators. */
const sendRefusals: Partial<
  Record<ApiProblem, Extract<SendAnswer, { refused: string }>['refused']>
> = {
  invalid: 'invalid',
  'not-found': 'not-found',
  'app-disabled': 'conflict',
  'data-too-large': 'too-large',
  'over-quota': 'over-limit',
  'rate-limited': 'over-limit',
};

/** What this loop answers to the background loop, by the name of the question. */
export function openAnswers(options: LoopAnswersOptions): LoopAnswers {
  const { apps, authority, inspector, problems, live, cluster } = options;
  const walks = new KeptWalks(authority);
  /** Returns `otherwise` for an app that has been removed since the question was sent. */
  const ofApp = <T>(appId: string, answer: (app: App) => T, otherwise: T): T => {
    const app = apps.byId(appId);
    return app === undefined ? otherwise : answer(app);
  };
  return {
    ping: () => 'pong',
    metrics: () => measureLoop(options),
    'share-figures': () => after(cluster?.share(), () => 'shared' as const),
    'live-figures': () =>
      cluster === undefined ? ownFigures(options) : figuresOfCluster(options, cluster),
    'open-connections': () => openConnections(options),
    'live-channels': (query) => liveChannels(apps, walks, query),
    send: (query) => send(options, query),
    'ask-live': ({ appId, event }) => live.ask(apps.byId(appId), event),
    problems: ({ appId }) => problems.of(appId),
    memory: () => memoryUses(options),
    'app-key-uses': ({ appId }) => apps.byId(appId)?.keyUses?.shown((key) => key) ?? [],
    'inspect-channel': (query) => inspectChannel(options, query),
    'read-history': ({ query, ...of }) =>
      ofKept(apps, of, {
        answer: (app, channel) => options.api.histories.read(app, channel, query),
        otherwise: EMPTY_PAGE,
      }),
    'forget-history': (of) =>
      ofKept(apps, of, {
        answer: (app, channel) =>
          after(authority.forgetHistory(app, channel), () => 'forgotten' as const),
        otherwise: 'forgotten' as const,
      }),
    'find-connections': ({ appId, ...query }) =>
      ofApp(appId, (app) => inspector.find(app, query), undefined) ?? 'unknown',
    connection: ({ appId, socketId }) =>
      ofApp(appId, (app) => inspector.details(app, socketId), undefined) ?? 'none',
    end: ({ appId, socketId }) => ofApp(appId, (app) => inspector.end(app, socketId), false),
    'notify-servers': ({ to, text }) => options.bus?.notify(to, text),
  };
}

function send(
  { api }: Pick<LoopAnswersOptions, 'api'>,
  { appId, json }: QueryOf<'send'>,
): MaybePromise<SendAnswer> {
  return after(api.send(appId, json), (sent) =>
    sent instanceof ApiRefusal
      ? { refused: sendRefusals[sent.problem] ?? 'unavailable', why: sent.text }
      : sent,
  );
}

/** Answers about the history of a channel; `otherwise` for a channel without one. */
function ofKept<T>(
  apps: MemoryAppDirectory,
  { appId, channel }: QueryOf<'forget-history'>,
  {
    answer,
    otherwise,
  }: {
    readonly answer: (app: App, channel: ChannelName) => MaybePromise<T>;
    readonly otherwise: T;
  },
): MaybePromise<T> {
  const app = apps.byId(appId);
  const parsed = parseChannelName(channel);
  if (app === undefined || !parsed.ok) return otherwise;
  const isKept = historyRuleOf(app, parsed.channel.text) !== undefined;
  return isKept ? answer(app, parsed.channel) : otherwise;
}

function inspectChannel(
  { apps, authority }: Pick<LoopAnswersOptions, 'apps' | 'authority'>,
  { appId, channel }: QueryOf<'inspect-channel'>,
): MaybePromise<ChannelState> {
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

function ownFigures(options: LoopAnswersOptions): MaybePromise<LiveFigures> {
  const { apps, connections, counter, usage, serverName } = options;
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
async function figuresOfCluster(
  { isFirst, apps, usage }: LoopAnswersOptions,
  cluster: ClusterQuotas,
): Promise<LiveFigures> {
  if (!isFirst) return { apps: [], servers: [] };
  const figures = await cluster.figures([...apps.all()], usage.today());
  return {
    apps: figures.apps,
    servers: figures.servers.map(({ name, connections }) => ({
      name,
      apps: Array.from(connections, ([appId, count]) => ({ appId, connections: count })),
    })),
  };
}

function openConnections({
  cluster,
  connections,
  isFirst,
}: LoopAnswersOptions): MaybePromise<AnswerTo<'open-connections'>> {
  if (cluster === undefined) {
    return Array.from(connections.openByApp(), ([app, open]) => [app.id, open] as const);
  }
  // Every loop would return the same.
  return isFirst ? cluster.openConnections() : [];
}

function liveChannels(
  apps: MemoryAppDirectory,
  walks: KeptWalks,
  { appId, ...query }: QueryOf<'live-channels'>,
): MaybePromise<AnswerTo<'live-channels'>> {
  const app = apps.byId(appId);
  if (app === undefined) return { channels: [], next: undefined };
  return after(walks.page(app, query), ({ channels, next }) => ({
    channels: channels.map(([name, { subscriptions, users }]) => ({
      name,
      subscriptions,
      users,
    })),
    next,
  }));
}
