import { totalmem } from 'node:os';
import type { AppActivity } from '../../admin/admin.ts';
import type { App } from '../../channels/app.ts';
import type { Hub } from '../../channels/hub.ts';
import { LifecycleEvents } from '../../channels/lifecycle/lifecycle-events.ts';
import { MemberChanges } from '../../channels/lifecycle/member-changes.ts';
import type { AppWebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import { LocalChannels } from '../../channels/subscribing/local-channels.ts';
import { type DayUsage, Usage } from '../../channels/usage.ts';
import { UserSessions } from '../../channels/users/user-sessions.ts';
import { WatchlistEvents } from '../../channels/users/watchlist-events.ts';
import type { Config } from '../../config/schema.ts';
import { MemoryEventCache } from '../../engines/memory/event-cache.ts';
import { MemoryRoster } from '../../engines/memory/roster.ts';
import { MemoryUserRoster } from '../../engines/memory/user-roster.ts';
import { LoopDelay } from '../../observability/loop-delay.ts';
import { type MetricValues, TableMeter } from '../../observability/meter.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import { RateLimitedLog } from '../../runtime/rate-limited-log.ts';
import { monotonicTimers, withTimeout } from '../../runtime/system-timers.ts';
import { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { ChangedIds } from '../../tenants/changed-ids.ts';
import { ChannelsApi } from '../../transports/channels-api/api.ts';
import { BodyIntake } from '../../transports/channels-api/body-intake.ts';
import { listenForChannels } from '../../transports/channels-listener.ts';
import { ClientAddresses } from '../../transports/client-address.ts';
import { ClientAudience } from '../../transports/clients/audience.ts';
import { Clients } from '../../transports/clients/clients.ts';
import { Connections } from '../../transports/clients/connections.ts';
import { drain } from '../../transports/clients/drain.ts';
import { endWith } from '../../transports/clients/end.ts';
import { SlowConsumers } from '../../transports/clients/slow-consumers.ts';
import { Coalescer } from '../../transports/websocket/coalescing/coalescer.ts';
import { LoopShare } from '../../transports/websocket/coalescing/loop-share.ts';
import { WebSocketTransport } from '../../transports/websocket/transport.ts';
import { WebSocketTopics } from '../../transports/websocket/websocket-topics.ts';
import { FileGuard } from '../file-guard.ts';
import type { ListenerAddress, Question, Questions } from '../link/messages.ts';
import { WebhookRelay } from '../link/webhook-relay.ts';
import { type OpenFiles, readOpenFiles } from '../open-files.ts';
import { Listeners } from './listeners.ts';

/**
 * Silent connections are looked for once a second, a tenth of all at a time: all of 10,000 at once held up the loop
 * for 3 ms. Milliseconds.
 */
const CHECK_INTERVAL_MS = 100;
const CHECK_PARTS = 10;

/**
 * How often descriptors are counted, which takes 3 µs. Several thousand connections a second may come, and the reserve for
 * the server itself must last until this is noticed. Milliseconds.
 */
const FILES_CHECK_INTERVAL_MS = 20;

/** How often usage is handed over to be kept: a crash forgets no more than this and one commit. Milliseconds. */
const USAGE_INTERVAL_MS = 500;

export interface RealtimeOptions {
  readonly config: Config;
  readonly apps: readonly App[];
  /** What was used today before this start. */
  readonly usage: readonly DayUsage[];
  readonly tls: Certificate | undefined;
  readonly timers: Timers;
  readonly log: Log;
  /** Lines of the log that were dropped so far. */
  readonly logLinesDropped: () => number;
  readonly keepUsage: (usage: readonly DayUsage[]) => void;
  readonly sendWebhookEvents: (events: readonly AppWebhookEvent[]) => void;
}

/** The loop that delivers: WebSockets and the HTTP API of Channels. It owns no disk and runs no SQL. */
export interface Realtime {
  readonly listener: ListenerAddress;
  /** Takes over a new list of apps; connections of those that are gone end. `changes` is for the log. */
  replaceApps(apps: readonly App[], changes: ChangedIds): void;
  webhookEventsTaken(events: number): void;
  /** How many connections the push listener has now. */
  pushConnectionsAre(open: number): void;
  /** Shows another certificate from now on; connections that are open stay. Throws, and keeps the old one. */
  replaceCertificate(tls: Certificate): void;
  answer(question: Question): Questions[Question['what']]['answer'];
  /** Takes no new connections, and ends those there are, spread over the drain time. */
  stop(): Promise<void>;
}

export function startRealtime(options: RealtimeOptions): Realtime {
  const { config, timers, log, tls } = options;
  const { channels } = config;

  const apps = new MemoryAppDirectory();
  apps.replace(options.apps);
  const meter = new TableMeter();
  const loopDelay = new LoopDelay();
  const strangerLog = new RateLimitedLog(log, monotonicTimers);
  const usage = new Usage(timers, log, meter);
  usage.restore(options.usage);
  const webhooks = new WebhookRelay({ send: options.sendWebhookEvents, meter, log: strangerLog });

  const openFiles = readOpenFiles();
  const connections = new Connections(
    Math.min(wantedConnections(channels), openFiles?.connections ?? Number.POSITIVE_INFINITY),
  );
  const slowConsumers = new SlowConsumers({
    connections,
    bytesMax: channels.sendBufferBytes,
    totalBytesMax: waitingBytesLimit(channels.waitingBytes),
    end: (connection) => void setImmediate(() => connection.terminate()),
  });
  const coalescer = coalescerOfThisLoop();
  const native = new WebSocketTopics(slowConsumers, coalescer);
  const audience = new ClientAudience({ native, connections, meter });
  const roster = new MemoryRoster();
  const hub: Hub = {
    audience,
    roster,
    channels: new LocalChannels(subscriptionLimit(channels.maxSubscriptions)),
    users: new MemoryUserRoster(),
    cache: new MemoryEventCache(timers),
    clock: timers,
    log,
    strangerLog,
    meter,
    lifecycle: new LifecycleEvents({ timers, broadcaster: { audience }, usage, sink: webhooks }),
    memberChanges: new MemberChanges({ timers, broadcaster: { audience }, usage }),
    watchlists: new WatchlistEvents(timers, { audience }),
    usage,
    endConnectionOf: (appId) => clients.endConnectionOf(appId),
    hastenDepartures: () => clients.departures.hasten(),
    subscriptionErrors: channels.subscriptionErrors,
    sessions: new UserSessions(),
  };
  const addresses = new ClientAddresses({
    proxies: new TrustedProxies(config.trustedProxies),
    log,
    clock: monotonicTimers,
  });
  const clients = new Clients({
    hub,
    connections,
    slowConsumers,
    settings: channels,
    monotonic: monotonicTimers,
    meter,
  });
  const transport = new WebSocketTransport({
    clients,
    apps,
    connections,
    coalescer,
    settings: channels,
    addresses,
    strangerLog,
  });
  const bodies = new BodyIntake(channels, monotonicTimers);
  const api = new ChannelsApi({
    hub,
    apps,
    pathPrefix: channels.pathPrefix,
    bodies,
    meter,
    terminate: (app, userId) => clients.terminate(app, userId),
  });
  const listeners = new Listeners({
    topics: native,
    open: (certificate, port) =>
      listenForChannels({
        settings: { ...channels, port, tls: certificate },
        hub,
        sockets: transport,
        api,
        addresses,
        meter,
      }),
  });
  const { port } = listeners.open(tls, channels.port);
  if (openFiles !== undefined) logConnectionLimit(channels, openFiles, log);
  let pushConnections = 0;
  const fileGuard =
    openFiles && new FileGuard({ openFiles, listeners, log, clock: monotonicTimers });
  const fileChecks = setInterval(() => fileGuard?.check(pushConnections), FILES_CHECK_INTERVAL_MS);
  const checks = setInterval(() => {
    slowConsumers.sampleAgain();
    listeners.forgetEmpty();
    clients.checkPart(CHECK_PARTS);
    bodies.check();
  }, CHECK_INTERVAL_MS);
  const keepUsage = () => {
    const unsaved = usage.unsaved();
    if (unsaved.length > 0) options.keepUsage(unsaved);
  };
  const usageTimer = setInterval(keepUsage, USAGE_INTERVAL_MS);

  const live = (): AppActivity[] => {
    const figures: AppActivity[] = [];
    for (const app of apps.all()) {
      const { backend, clients } = usage.todayOf(app);
      figures.push({
        appId: app.id,
        connections: connections.openOf(app),
        channels: roster.channelCountOf(app),
        messages: backend + clients,
        clientMessages: clients,
      });
    }
    return figures;
  };
  const metrics = (): MetricValues => {
    meter.set('connections', connections.size);
    meter.set('channels', roster.channelCount());
    meter.set('loopDelay', loopDelay.longestSeconds(), 'realtime');
    meter.set('logLinesDropped', options.logLinesDropped(), 'realtime');
    return meter.snapshot();
  };
  const liveChannels = ({
    appId,
    limit,
    ...query
  }: Questions['live-channels']['ask']): Questions['live-channels']['answer'] => {
    const app = apps.byId(appId);
    if (app === undefined) return { channels: [], next: undefined };
    const page = roster.channels(app, query).page(limit);
    const channels = page.channels.map(([name, { subscriptions, users }]) => ({
      name,
      subscriptions,
      users,
    }));
    return { channels, next: page.next };
  };

  return {
    listener: { host: channels.host, port, tls: tls !== undefined },
    replaceApps(list, changes) {
      clients.endAll(new Set(apps.replace(list).gone), 'app-disabled');
      // Said here, where it holds: whoever reads it may rely on it.
      log.info('Apps changed', { apps: list.length, ...changes });
    },
    replaceCertificate: (certificate) => listeners.replace(certificate),
    webhookEventsTaken: (events) => webhooks.taken(events),
    pushConnectionsAre(open) {
      pushConnections = open;
    },
    answer(question) {
      switch (question.what) {
        case 'metrics':
          return metrics();
        case 'live-apps':
          return live();
        case 'live-channels':
          return liveChannels(question);
        case 'ping':
          return 'pong';
        default:
          return question satisfies never;
      }
    },
    async stop() {
      const stopped = listeners.close();
      await drain(connections, config.drainSeconds, (connection) =>
        endWith(connection, 'server-stopping'),
      );
      clearInterval(checks);
      clearInterval(fileChecks);
      // A client may leave its end half open for as long as it likes; this does not wait for it.
      await withTimeout(STOP_WAIT_MS, stopped);
      await withTimeout(STOP_WAIT_MS, listeners.end());
      // Last of all, so that what was told and used until now is not forgotten.
      clearInterval(usageTimer);
      await clients.departed();
      hub.lifecycle.flush();
      webhooks.flush();
      keepUsage();
      loopDelay[Symbol.dispose]();
    },
  };
}

/** What requests under way and closing handshakes may take at the end. Milliseconds. */
const STOP_WAIT_MS = 1000;

/** Bytes that one subscription takes, with room to spare. */
const SUBSCRIPTION_BYTES = 2048;

/** How many subscriptions there may be: as many as are set, or what half of the memory holds. */
function subscriptionLimit(set: number): number {
  return set > 0 ? set : Math.floor(memoryBytes() / 2 / SUBSCRIPTION_BYTES);
}

/** How many bytes may wait for all clients: as many as are set, or a quarter of the memory. */
function waitingBytesLimit(set: number): number {
  return set > 0 ? set : Math.floor(memoryBytes() / 4);
}

/** The memory of the machine, or of the container if that is less. */
function memoryBytes(): number {
  // 0 where nothing constrains the process.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/** How many connections the settings allow. */
function wantedConnections({ maxConnections }: Config['channels']): number {
  return maxConnections === 0 ? Number.POSITIVE_INFINITY : maxConnections;
}

/** Says where open files allow fewer connections than the settings do. */
function logConnectionLimit(
  settings: Config['channels'],
  { limit, push, connections }: OpenFiles,
  log: Log,
): void {
  if (wantedConnections(settings) <= connections) return;
  const line = { connections, pushConnections: push, openFilesLimit: limit };
  const set = settings.maxConnections;
  if (set === 0) log.info('Connections are limited by open files', line);
  else log.warn('channels.maxConnections is more than open files allow', { ...line, set });
}

function coalescerOfThisLoop(): Coalescer {
  const share = new LoopShare(performance.now());
  return new Coalescer({
    now: () => performance.now(),
    busyShare: (nowMs) => share.at(nowMs),
    after: (delayMs, run) => setTimeout(run, delayMs),
    // Bun sends what was published at the end of a turn, and then runs these.
    afterTurn: (run) => void setImmediate(run),
  });
}
