import type { App } from '../../../channels/app.ts';
import type { Broadcaster } from '../../../channels/broadcast.ts';
import type { WebhookEvents } from '../../../channels/lifecycle/webhook-events.ts';
import type { LostEvents } from '../../../channels/lost-events.ts';
import type { MaybePromise } from '../../../channels/maybe-promise.ts';
import type { AppDirectory, Authority } from '../../../channels/ports.ts';
import type { LocalChannels } from '../../../channels/subscribing/local-channels.ts';
import type { EngineFigures, EngineMeter } from '../../../engines/engine-meter.ts';
import type { HistoryMeter } from '../../../engines/history/histories.ts';
import type { Home } from '../../../engines/home.ts';
import { MemoryEngine } from '../../../engines/memory.ts';
import { createRedisEngine } from '../../../engines/redis/create-engine.ts';
import { ServerUnusable } from '../../../engines/redis/engine-server.ts';
import { RedisUnsuitable, RedisUrlInvalid } from '../../../engines/redis/link/reply.ts';
import { SharedLinks } from '../../../engines/redis/shared/shared-links.ts';
import type { RememberedMax } from '../../../engines/remembered.ts';
import { ThreadsEngine } from '../../../engines/threads/engine.ts';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { EngineAway } from '../../../transports/admin/readiness.ts';
import type { LoopLinks } from '../../link/loop-links.ts';
import { StartFailed } from '../../start-failed.ts';
import type { ClusterLinks } from './quotas.ts';

/** What a realtime loop counts of channels, for metrics and the admin API. */
export interface ChannelCounter {
  /** Occupied channels of all apps that this loop counts. */
  channelCount(): number;
  /** The occupied channels of one app. The sum over all loops is the number of its channels. */
  channelCountOf(app: App): MaybePromise<number>;
}

/** The engine of one realtime loop. */
export interface LoopEngine {
  readonly authority: Authority;
  readonly counter: ChannelCounter;
  /** Handles messages of the other loops. Only set if the loops of this process are homes for each other. */
  readonly threads: ThreadsEngine | undefined;
  /** Handles messages of the other loops about Redis. Only set if the loops of this process share their links to it. */
  readonly sharedLinks: SharedLinks | undefined;
  figures(): EngineFigures;
  /** The settings of apps have changed. */
  appsChanged(): void;
  /** Forgets all that is remembered of a deleted app. */
  forgetApp(id: string): void;
  /**
   * Returns the histories that must survive a restart; `undefined`: they are not kept in this process. Called once,
   * at the end.
   */
  saveHistories(): Uint8Array | undefined;
  /**
   * Restores what `saveHistories` of all loops has returned. Throws, and restores nothing, if the data are not that.
   */
  restoreHistories(saved: Uint8Array): void;
  /** Connects to Redis, if there is one. Throws `StartFailed` if it cannot be used. */
  connect(): Promise<void>;
  /** Sends delayed events, and disconnects from Redis. */
  close(): Promise<void>;
}

export interface LoopEngineOptions {
  readonly links: LoopLinks;
  /** Only for an engine on Redis. */
  readonly cluster: ClusterLinks | undefined;
  readonly apps: AppDirectory;
  readonly channels: LocalChannels;
  readonly timers: Timers;
  readonly log: Log;
  readonly meter: EngineMeter & HistoryMeter;
  /** The limit of all histories on all loops. Bytes. */
  readonly historyBytes: number;
  /** The limit of everything else that all loops remember. */
  readonly remembered: RememberedMax;
  readonly webhooks: WebhookEvents;
  readonly broadcaster: Broadcaster;
  /** Closes all connections of this loop that are signed in as the user. */
  readonly terminate: (app: App, userId: string) => void;
  readonly allApps: () => Iterable<App>;
  /** Closes connections that may have missed events. Those that can resume are closed before it returns. */
  readonly eventsLost: (lost: readonly LostEvents[]) => void;
  /** Called when the engine becomes unusable, and with `undefined` when it works again. */
  readonly onState: (away: EngineAway | undefined) => void;
}

/** Makes the engine: Redis for several servers; otherwise threads, or memory if there is only one loop. */
export function openEngine(options: LoopEngineOptions): LoopEngine {
  const { cluster, links } = options;
  if (cluster !== undefined) return overRedis(options, cluster);
  if (links.count === 1) {
    const authority = new MemoryEngine({ ...options, monotonic: monotonicTimers });
    return ofHome(options.apps, { authority, home: authority.home, threads: undefined });
  }
  const { counts, index } = links;
  const threads = new ThreadsEngine({
    ...options,
    monotonic: monotonicTimers,
    loop: links.index,
    loops: links.count,
    others: {
      send: (to, message) => links.send(to, message),
      post: (to, message) => links.post(to, message),
      flush: (to) => links.flushTo(to),
      backlog: (loop) => links.backlog(loop),
      isBehind: () => links.isBehind,
      catchUp: () => links.catchUp(),
      isCongested: (loop) => counts.isCongested(loop),
      setCongested: (isCongested) => counts.setCongested(index, isCongested),
      haveSameApps: (loop) => counts.haveSameApps(index, loop),
    },
  });
  return ofHome(options.apps, { authority: threads, home: threads.home, threads });
}

function ofHome(
  apps: AppDirectory,
  {
    authority,
    home,
    threads,
  }: {
    readonly authority: Authority;
    readonly home: Home;
    readonly threads: LoopEngine['threads'];
  },
): LoopEngine {
  return {
    authority,
    counter: home.holders,
    threads,
    sharedLinks: undefined,
    figures: () => ({
      ...(threads?.figures() ?? { waiting: 0, awaySeconds: 0 }),
      history: home.histories.size,
    }),
    appsChanged: () => home.histories.review(),
    forgetApp: (id) => home.forgetApp(id),
    saveHistories: () => home.saveHistories(),
    restoreHistories: (saved) =>
      home.restoreHistories(saved, {
        appOf: (id) => apps.byId(id),
        isHome: (app, channel) => threads?.isHomeOf(app, channel) ?? true,
      }),
    connect: async () => undefined,
    close: async () => home.flush(),
  };
}

function overRedis(options: LoopEngineOptions, cluster: ClusterLinks): LoopEngine {
  const { channels, timers, links, onState } = options;
  const { settings, bus, quotas } = cluster;
  const { keyPrefix } = settings;
  const away = new Map<string, EngineAway>();
  const sharedLinks = links.count > 1 ? new SharedLinks(links, options.meter) : undefined;
  const engine = createRedisEngine({
    ...options,
    bus,
    quotas,
    urls: cluster.logins.urls,
    keyPrefix,
    sharedLinks,
    tls: () => cluster.tls,
    logins: () => cluster.logins,
    onState(link, reason) {
      if (reason === undefined) away.delete(link);
      else {
        const { sinceMs = timers.now() } = away.get(link) ?? {};
        const { why, isRefused } = reason;
        away.set(link, { sinceMs, why: `Redis ${reason.server}: ${why}`, isRefused });
      }
      const all = [...away.values()];
      const [first] = all;
      // Several slots may have one master.
      const why = [...new Set(all.map((one) => one.why))].join('; ');
      const isRefused = all.some((one) => one.isRefused);
      onState(first && { sinceMs: first.sinceMs, why, isRefused });
    },
  });
  return {
    authority: engine,
    counter: {
      channelCount: () => channels.size,
      channelCountOf: (app) => engine.channelCountOf(app),
    },
    threads: undefined,
    sharedLinks,
    figures: () => engine.figures(),
    saveHistories: () => undefined,
    restoreHistories: () => undefined,
    appsChanged: () => engine.appsChanged(),
    forgetApp: (id) => engine.forgetApp(id),
    async connect() {
      try {
        await engine.start();
      } catch (error) {
        if (!(error instanceof ServerUnusable)) throw error;
        // What Redis says is no fault of the configuration, and may change: a supervisor tries again after 1, and not after 2.
        // Whether it is a cluster does not change.
        const { cause } = error;
        const isWrong = cause instanceof RedisUrlInvalid || cause instanceof RedisUnsuitable;
        const exitCode = isWrong ? 2 : 1;
        const setting = settings.url === undefined ? `engine.urls[${error.index}]` : 'engine.url';
        const message = `${setting}: ${error.message}`;
        throw new StartFailed({ exitCode, message }, { cause: error });
      }
    },
    close: () => engine.close(),
  };
}
