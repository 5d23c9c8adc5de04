import type { App } from '../../channels/app.ts';
import type { Broadcaster } from '../../channels/broadcast.ts';
import type { WebhookEvents } from '../../channels/lifecycle/webhook-events.ts';
import type { MaybePromise } from '../../channels/maybe-promise.ts';
import type { AppDirectory, Authority, ConnectionQuota } from '../../channels/ports.ts';
import type { LocalChannels } from '../../channels/subscribing/local-channels.ts';
import type { Config } from '../../config/schema.ts';
import type { Home } from '../../engines/home.ts';
import { LocalConnectionQuota } from '../../engines/local-connection-quota.ts';
import { MemoryEngine } from '../../engines/memory.ts';
import { createRedisEngine } from '../../engines/redis/create-engine.ts';
import type { RedisEngine } from '../../engines/redis/engine.ts';
import { RedisRefused } from '../../engines/redis/link/reply.ts';
import type { ClusterUsage } from '../../engines/redis/quotas/cluster-usage.ts';
import { ThreadsEngine } from '../../engines/threads/engine.ts';
import { messageOf } from '../../runtime/error-code.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import { SharedCounts } from '../../runtime/shared-memory/shared-counts.ts';
import type { LoopLinks } from '../link/loop-links.ts';
import { StartFailed } from '../start-failed.ts';

/** What a realtime loop counts of channels, for metrics and the admin API. */
export interface ChannelCounter {
  /** Occupied channels of all apps that this loop counts. */
  channelCount(): number;
  /** Those of one app. The sum of all loops is the number of its channels. */
  channelCountOf(app: App): MaybePromise<number>;
}

/** The engine of one realtime loop, from its start to its end. */
export interface LoopEngine {
  readonly authority: Authority;
  readonly counter: ChannelCounter;
  readonly quota: ConnectionQuota;
  /** Set if several servers share the engine: what apps do on all of them. */
  readonly cluster: RedisEngine | undefined;
  /** Set if the loops of this process are one another's homes: takes what they send. */
  readonly threads: ThreadsEngine | undefined;
  /** Connects to what several servers share. Throws `StartFailed` if that cannot be used. */
  connect(): Promise<void>;
  /** Hands over what it has delayed, and lets go of what servers share. */
  close(): Promise<void>;
}

export interface LoopEngineOptions {
  readonly settings: Config['engine'];
  readonly links: LoopLinks;
  readonly apps: AppDirectory;
  /** In which the loops of this process count the connections of each app. */
  readonly appConnections: SharedArrayBuffer;
  /** Shares the usage of apps with other servers, if the engine does. */
  readonly clusterUsage: ClusterUsage;
  /** The open connections of each app on this loop. */
  readonly openConnections: () => Iterable<readonly [app: App, open: number]>;
  /** The name of this server, for operators. */
  readonly serverName: string;
  readonly channels: LocalChannels;
  readonly timers: Timers;
  readonly log: Log;
  readonly webhooks: WebhookEvents;
  readonly broadcaster: Broadcaster;
  /** Ends every connection of this loop that is signed in as the user. */
  readonly terminate: (app: App, userId: string) => void;
  /** Called when the engine cannot be used any more, with the reason, and with `undefined` when it can be used again. */
  readonly onState: (why: string | undefined) => void;
}

/** Chooses the engine: Redis for several servers, otherwise the loops of this process, or the only one of them. */
export function openEngine(options: LoopEngineOptions): LoopEngine {
  const { settings, links } = options;
  if (settings.type === 'redis') return overRedis(options, settings);
  if (links.count === 1) {
    const authority = new MemoryEngine(options);
    const quota = new LocalConnectionQuota();
    return ofHome({ authority, home: authority.home, quota, threads: undefined });
  }
  const threads = new ThreadsEngine({
    ...options,
    loop: links.index,
    loops: links.count,
    send: (to, message) => links.send(to, message),
    backlog: (loop) => links.backlog(loop),
  });
  const quota = new LocalConnectionQuota(new SharedCounts(options.appConnections));
  return ofHome({ authority: threads, home: threads.home, quota, threads });
}

function ofHome({
  home,
  ...engine
}: Pick<LoopEngine, 'authority' | 'quota' | 'threads'> & { readonly home: Home }): LoopEngine {
  return {
    ...engine,
    counter: home.holders,
    cluster: undefined,
    connect: async () => undefined,
    close: async () => home.flush(),
  };
}

function overRedis(
  options: LoopEngineOptions,
  { url, keyPrefix }: Extract<Config['engine'], { type: 'redis' }>,
): LoopEngine {
  const { channels, onState } = options;
  const engine = createRedisEngine({
    ...options,
    urls: [url],
    keyPrefix,
    onState: (_, why) => onState(why),
  });
  return {
    authority: engine,
    counter: {
      channelCount: () => channels.size,
      channelCountOf: (app) => engine.channelCountOf(app),
    },
    quota: {
      take: (app) => engine.quotas.take(app),
      release: (app) => engine.quotas.release(app),
    },
    cluster: engine,
    threads: undefined,
    async connect() {
      try {
        await engine.start();
      } catch (error) {
        const exitCode = error instanceof RedisRefused ? 2 : 1;
        const message = `engine.url: ${messageOf(error)}`;
        throw new StartFailed({ exitCode, message }, { cause: error });
      }
    },
    close: () => engine.close(),
  };
}
