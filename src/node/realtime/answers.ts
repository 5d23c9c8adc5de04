import type { ChannelState, LiveFigures, SendAnswer } from '../../asking/facts/live.ts';
import type { AnswerTo, LoopAnswers, QueryOf } from '../../asking/questions.ts';
import type { App } from '../../channels/app.ts';
import { type ChannelName, parseChannelName } from '../../channels/channel-name.ts';
import { historyRuleOf } from '../../channels/history/history-rule.ts';
import { EMPTY_PAGE } from '../../channels/history/page.ts';
import { after, type MaybePromise, mapAll, recover } from '../../channels/maybe-promise.ts';
import type { Authority, UserStatus } from '../../channels/ports.ts';
import type { Usage } from '../../channels/usage/usage.ts';
import { KeptWalks } from '../../engines/kept-walks.ts';
import type { ClusterFigures } from '../../engines/redis/quotas/cluster-quotas.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { ChannelsApi } from '../../transports/channels-api/api.ts';
import { type ApiProblem, ApiRefusal } from '../../transports/channels-api/problems.ts';
import { Inspector } from '../../transports/clients/inspector.ts';
import type { Quotas } from './engine/quotas.ts';
import type { LoopBase } from './loop-base.ts';
import { type MeasuredParts, measureLoop, memoryUses } from './loop-metrics.ts';

/** The parts of a loop that its answers are about. */
export interface AnsweringParts extends MeasuredParts {
  readonly apps: MemoryAppDirectory;
  readonly usage: Usage;
  readonly quotas: Quotas;
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
export function openAnswers(base: LoopBase, parts: AnsweringParts): LoopAnswers {
  const { apps, usage, audience, quotas, core, transports } = parts;
  const { connections } = audience;
  const { cluster } = quotas;
  const { hub, engine } = core;
  const { authority } = engine;
  const { api, clients } = transports;
  // Every loop would answer the same about all servers, so only the first one does.
  const isFirst = base.links.index === 0;
  const live = core.live.openAsks(hub);
  const inspector = new Inspector({
    connections,
    sessions: hub.sessions,
    libraries: clients.libraries,
    clock: base.timers,
    monotonic: monotonicTimers,
  });
  const walks = new KeptWalks(authority);
  /** Returns `otherwise` for an app that has been removed since the question was sent. */
  const ofApp = <T>(appId: string, answer: (app: App) => T, otherwise: T): T => {
    const app = apps.byId(appId);
    return app === undefined ? otherwise : answer(app);
  };
  return {
    ping: () => 'pong',
    metrics: () => measureLoop(base, parts),
    'share-figures': () => after(cluster?.quotas.share(), () => 'shared' as const),
    'live-figures': async () => {
      if (cluster === undefined) return await ownFigures(base.serverName, parts);
      return isFirst
        ? figuresOfCluster(await cluster.quotas.figures([...apps.all()], usage.today()))
        : { apps: [], servers: [] };
    },
    'open-connections': () => {
      if (cluster === undefined) {
        return Array.from(connections.openByApp(), ([app, open]) => [app.id, open] as const);
      }
      return isFirst ? cluster.quotas.openConnections() : [];
    },
    'live-channels': (query) => liveChannels(apps, walks, query),
    send: (query) => send(api, query),
    'send-source-events': ({ appId, events, budgetMs }) =>
      api.sendSourceEvents(appId, events, {
        budgetMs,
        nextTurn: () => new Promise((resolve) => void base.timers.after(0, resolve)),
      }),
    'ask-live': ({ appId, event }) => live.ask(apps.byId(appId), event),
    problems: ({ appId }) => hub.problems.of(appId),
    memory: () => memoryUses(base, parts),
    'app-key-uses': ({ appId }) => apps.byId(appId)?.keyUses?.shown((key) => key) ?? [],
    'inspect-channel': (query) => inspectChannel(apps, authority, query),
    'user-status': ({ appId, user }) =>
      ofApp(
        appId,
        (app) =>
          recover<UserStatus | 'unknown'>(
            () => after(authority.userStatuses(app, [user]), ([status]) => status ?? 'unknown'),
            () => 'unknown',
          ),
        'unknown',
      ),
    'read-history': ({ query, ...of }) =>
      ofKept(apps, of, {
        answer: (app, channel) => api.histories.read(app, channel, query),
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
    'notify-servers': ({ to, text }) => cluster?.bus.notify(to, text),
  };
}

function send(api: ChannelsApi, { appId, json }: QueryOf<'send'>): MaybePromise<SendAnswer> {
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
  apps: MemoryAppDirectory,
  authority: Authority,
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

function ownFigures(
  serverName: string,
  { apps, usage, audience, core }: AnsweringParts,
): MaybePromise<LiveFigures> {
  const { connections } = audience;
  const { counter } = core.engine;
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

function figuresOfCluster({ apps, servers }: ClusterFigures): LiveFigures {
  return {
    apps,
    servers: servers.map(({ name, connections }) => ({
      name,
      apps: Array.from(connections, ([appId, count]) => ({ appId, connections: count })),
    })),
  };
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
