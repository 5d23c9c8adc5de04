import type { Hub } from '../../channels/hub.ts';
import { WebhookEvents } from '../../channels/lifecycle/webhook-events.ts';
import { ProblemBook } from '../../channels/problem-book.ts';
import { LocalChannels } from '../../channels/subscribing/local-channels.ts';
import { MemberSessions } from '../../channels/subscribing/member-sessions.ts';
import { Usage } from '../../channels/usage/usage.ts';
import { UserSessions } from '../../channels/users/user-sessions.ts';
import { LocalConnectionQuota } from '../../engines/local-connection-quota.ts';
import { LoopBus, type LoopNotice } from '../../engines/redis/loop-bus.ts';
import { ClusterQuotas } from '../../engines/redis/quotas/cluster-quotas.ts';
import { LoopDelay } from '../../observability/loop-delay.ts';
import { TableMeter } from '../../observability/meter.ts';
import { messageOf } from '../../runtime/error-code.ts';
import { RateLimitedLog } from '../../runtime/rate-limited-log.ts';
import { SharedCounts } from '../../runtime/shared-memory/shared-counts.ts';
import { SharedTotal } from '../../runtime/shared-memory/shared-total.ts';
import { monotonicTimers, withTimeout } from '../../runtime/system-timers.ts';
import { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import { BodyIntake } from '../../transports/body-intake.ts';
import { ChannelsApi } from '../../transports/channels-api/api.ts';
import { HTTP_IDLE_SECONDS, listenForChannels } from '../../transports/channels-listener.ts';
import { ClientAddresses } from '../../transports/client-address.ts';
import { ClientAudience } from '../../transports/clients/audience.ts';
import { Clients } from '../../transports/clients/clients.ts';
import { Connection } from '../../transports/clients/connection.ts';
import { Connections } from '../../transports/clients/connections.ts';
import { drain } from '../../transports/clients/drain.ts';
import { endWith } from '../../transports/clients/end.ts';
import { Inspector } from '../../transports/clients/inspector.ts';
import { SlowConsumers } from '../../transports/clients/slow-consumers.ts';
import { endVisit, SessionCluster } from '../../transports/http-fallback/session-cluster.ts';
import { SessionLinks } from '../../transports/http-fallback/session-links.ts';
import { Sessions } from '../../transports/http-fallback/sessions.ts';
import { FallbackTransport, sendLimit } from '../../transports/http-fallback/transport.ts';
import { Coalescer } from '../../transports/websocket/coalescing/coalescer.ts';
import { LoopShare } from '../../transports/websocket/coalescing/loop-share.ts';
import { WebSocketTransport } from '../../transports/websocket/transport.ts';
import { WebSocketTopics } from '../../transports/websocket/websocket-topics.ts';
import { REALTIME_RECORDS } from '../../watching/limits.ts';
import { LoopTaps } from '../../watching/loop-taps.ts';
import { FileGuard } from '../file-guard.ts';
import { stoppingNotice } from '../link/cluster-format.ts';
import { loopName } from '../link/loop-name.ts';
import { isOfEngine } from '../link/messages.ts';
import { RuleEventRelay } from '../link/rule-event-relay.ts';
import { WebhookRelay } from '../link/webhook-relay.ts';
import { readOpenFiles } from '../open-files.ts';
import { type LoopEngine, openEngine } from './engine.ts';
import { Figures } from './figures.ts';
import {
  connectionLimit,
  logConnectionLimit,
  settingsOfLoop,
  subscriptionLimit,
  waitingBytesLimit,
} from './limits.ts';
import { Listeners } from './listeners.ts';
import { LiveLoop } from './live-loop.ts';
import { QuotaExchange } from './quota-exchange.ts';
import type { Realtime, RealtimeOptions } from './realtime.ts';

/**
 * The interval of checking connections, a tenth of them at a time, so each is checked once a second. Checking 10,000
 * at once blocked the loop for 3 ms. Milliseconds.
 */
const CHECK_INTERVAL_MS = 100;
const CHECK_PARTS = 10;

/**
 * The interval of counting descriptors, which takes 3 µs. Several thousand connections can arrive per second, and the
 * descriptors reserved for the server itself must last until the next count. Milliseconds.
 */
const FILES_CHECK_INTERVAL_MS = 20;

/** The interval of storing usage. A crash loses at most the usage of this time and one commit. Milliseconds. */
const USAGE_INTERVAL_MS = 500;

/** Opens a realtime loop, which can then answer other loops. It starts to listen in a separate call. */
export function openRealtime(options: RealtimeOptions): Realtime {
  const { config, timers, log, tls, links } = options;
  const channels = settingsOfLoop(config.channels, links.count);
  const isFirst = links.index === 0;
  const isOneOfSeveral = links.count > 1;
  const totalOf = (memory: SharedArrayBuffer) => new SharedTotal(memory, links.index);
  const isOneOfCluster = config.engine.type === 'redis';
  const onNotice = (notice: LoopNotice) =>
    options.toBackground({ type: 'cluster-received', notice });
  const bus =
    config.engine.type === 'redis'
      ? // One loop of each server speaks for it.
        new LoopBus(config.engine.keyPrefix, isFirst ? onNotice : undefined)
      : undefined;
  const clusterQuotas = new ClusterQuotas({
    serverName: options.serverName,
    timers: monotonicTimers,
    openConnections: () => connections.openByApp(),
  });
  const quotas = isOneOfSeveral && !isOneOfCluster ? new QuotaExchange(links) : undefined;

  const apps = new MemoryAppDirectory();
  apps.replace(options.apps);
  const taps = new LoopTaps({
    setTap: (appId, tap) => apps.setTap(appId, tap),
    timers,
    share: REALTIME_RECORDS,
    loops: links.count,
    send: (ticks) => options.toBackground({ type: 'tapped', ticks }),
  });
  const meter = new TableMeter();
  const loopDelay = new LoopDelay();
  const rateLimitedLog = new RateLimitedLog(log, monotonicTimers);
  const shared = isOneOfCluster ? clusterQuotas.usage : quotas?.usage;
  const usage = new Usage({ clock: timers, log, meter, shared });
  usage.restore(options.usage);
  const webhookRelay = new WebhookRelay({
    send: (events) => options.toBackground({ type: 'webhook-events', events }),
    meter,
    log: rateLimitedLog,
    loops: links.count,
    waiting: isOneOfSeveral
      ? {
          items: totalOf(options.totals.webhookEvents),
          bytes: totalOf(options.totals.webhookCharacters),
        }
      : undefined,
  });

  const ruleEvents = new RuleEventRelay({
    send: (event) => options.toBackground({ type: 'rule-event', event }),
    clock: monotonicTimers,
    log,
    meter,
  });

  const openFiles = readOpenFiles();
  const connections = new Connections(
    connectionLimit(channels, openFiles),
    isOneOfSeveral ? totalOf(options.totals.connections) : undefined,
  );
  const localQuota = new LocalConnectionQuota(
    isOneOfSeveral ? new SharedCounts(options.totals.appConnections) : undefined,
  );
  const slowConsumers = new SlowConsumers({
    connections,
    bytesMax: channels.sendBufferBytes,
    totalBytesMax: waitingBytesLimit(channels),
    end: (connection) => void setImmediate(() => connection.terminate()),
  });
  const loopShare = new LoopShare(performance.now());
  const coalescer = coalescerOfThisLoop(loopShare);
  const native = new WebSocketTopics(slowConsumers, coalescer);
  const audience = new ClientAudience({ native, connections, slowConsumers, meter });
  const webhooks = new WebhookEvents({ clock: timers, usage, sink: webhookRelay });
  const localChannels = new LocalChannels(
    subscriptionLimit(channels),
    isOneOfSeveral ? totalOf(options.totals.subscriptions) : undefined,
  );
  const userSessions = new UserSessions();
  const members = new MemberSessions();
  const live = new LiveLoop({
    sessions: userSessions,
    members,
    // All sessions of a loop are its connections.
    probe: (session, number) =>
      session instanceof Connection ? clients.probe(session, number) : undefined,
    links,
    bus,
    timers: monotonicTimers,
  });
  const engine = openEngine({
    settings: config.engine,
    links,
    apps,
    quotas: clusterQuotas,
    bus,
    channels: localChannels,
    timers,
    log,
    meter,
    webhooks,
    broadcaster: { audience, usage, asked: live.asked },
    historyBytes: channels.historyBytes,
    terminate: (app, userId) => clients.terminate(app, userId),
    allApps: () => apps.all(),
    endResuming: (app, channel) => clients.endResuming(app, channel),
    onState: (away) => options.toBackground({ type: 'engine', away }),
  });
  restoreHistories(options, engine);
  const hub: Hub = {
    audience,
    authority: engine.authority,
    channels: localChannels,
    clock: timers,
    log,
    rateLimitedLog,
    meter,
    webhooks,
    usage,
    ruleEvents,
    problems: new ProblemBook(timers),
    endConnectionOf: (appId) => clients.endConnectionOf(appId),
    hastenDepartures: () => clients.departures.hasten(),
    // A full buffer closes the connection, so half of it stays free for live events.
    historySendBytes: channels.sendBufferBytes / 2,
    subscriptionErrors: channels.subscriptionErrors,
    sessions: userSessions,
    members,
    asked: live.asked,
  };
  const addresses = new ClientAddresses({
    proxies: new TrustedProxies(config.trustedProxies),
    log,
    clock: monotonicTimers,
  });
  const clients = new Clients({
    hub,
    connections,
    quota: isOneOfCluster ? clusterQuotas : localQuota,
    slowConsumers,
    settings: channels,
    monotonic: monotonicTimers,
    meter,
    slowConnectionsClosed: isOneOfSeveral
      ? totalOf(options.totals.slowConnectionsClosed)
      : undefined,
  });
  const transport = new WebSocketTransport({
    clients,
    apps,
    connections,
    coalescer,
    settings: channels,
    addresses,
    rateLimitedLog,
  });
  const sessions = new Sessions({
    clients,
    apps,
    connections,
    connectionsMax: Math.ceil(channels.maxFallbackConnections / links.count),
    sendBufferBytes: channels.sendBufferBytes,
    timers: monotonicTimers,
    afterTurn: (run) => void setImmediate(run),
    busyShare: (nowMs) => loopShare.at(nowMs),
    log: rateLimitedLog,
    meter,
    onForgotten: (session) => bus?.release(session),
  });
  const { sendBufferBytes } = channels;
  const sessionLinks = new SessionLinks({
    loop: links.index,
    loops: links.count,
    sessions,
    send: (loop, message) => links.send(loop, message),
    sendBufferBytes,
    timers: monotonicTimers,
  });
  const sessionCluster =
    bus &&
    new SessionCluster({
      bus,
      sessions,
      wouldRefuse: (address) => clients.wouldRefuse(address),
      sendBufferBytes,
      timers: monotonicTimers,
    });
  const sessionHomes = sessionCluster ?? sessionLinks;
  const sendBodies = new BodyIntake(
    { ...channels, requestBytes: sendLimit(channels.clientFrameBytes) },
    monotonicTimers,
  );
  const fallback = new FallbackTransport({
    homes: sessionHomes,
    clients,
    meter,
    addresses,
    bodies: sendBodies,
    clientFrameBytes: channels.clientFrameBytes,
    idleSeconds: HTTP_IDLE_SECONDS,
  });
  const bodies = new BodyIntake(channels, monotonicTimers);
  const api = new ChannelsApi({
    hub,
    apps,
    pathPrefix: channels.pathPrefix,
    bodies,
    meter,
  });
  const listeners = new Listeners({
    topics: native,
    open: (certificate, port) =>
      listenForChannels({
        settings: { ...channels, port, tls: certificate, reusePort: links.count > 1 },
        hub,
        sockets: transport,
        fallback,
        api,
        addresses,
        meter,
      }),
  });
  let pushConnections = 0;
  const fileGuard =
    openFiles &&
    new FileGuard({
      openFiles,
      listeners,
      log,
      clock: monotonicTimers,
      ...(links.count > 1 && { loop: loopName(links.index) }),
    });
  let fileChecks: NodeJS.Timeout | undefined;
  let checked = 0;
  const checks = setInterval(() => {
    slowConsumers.sampleAgain();
    listeners.forgetEmpty();
    clients.checkPart(CHECK_PARTS);
    bodies.check();
    sendBodies.check();
    checked++;
    if (checked % CHECK_PARTS !== 0) return;
    sessions.check();
    sessionHomes.check();
  }, CHECK_INTERVAL_MS);
  const keepUsage = () => {
    const unsaved = usage.unsaved();
    if (unsaved.length > 0) options.toBackground({ type: 'usage', usage: unsaved });
  };
  const usageTimer = setInterval(keepUsage, USAGE_INTERVAL_MS);

  const goodbye = Promise.withResolvers<void>();
  links.receive((from, messages) => {
    for (const message of messages) {
      if (isOfEngine(message)) engine.threads?.receive(from, message);
      else if (message.type === 'session') sessionLinks.receive(from, message);
      else if (message.type === 'live-report') live.take(message.report);
      else quotas?.receive(message, apps, usage);
    }
    engine.threads?.received(from);
  });
  quotas?.start();

  const figures = new Figures({
    loopName: loopName(links.index),
    apps,
    connections,
    sessions,
    authority: engine.authority,
    counter: engine.counter,
    api,
    live: live.openAsks(hub),
    problems: hub.problems,
    inspector: new Inspector({
      connections,
      sessions: hub.sessions,
      libraries: clients.libraries,
      clock: timers,
      monotonic: monotonicTimers,
    }),
    cluster: isOneOfCluster ? clusterQuotas : undefined,
    bus,
    serverName: options.serverName,
    isFirst,
    engineFigures: () => engine.figures(),
    usage,
    meter,
    loopDelay,
    logLinesDropped: options.logLinesDropped,
  });

  return {
    connect: () => engine.connect(),
    listen(port) {
      const listener = listeners.open(tls, port);
      if (openFiles !== undefined && isFirst) logConnectionLimit(channels, openFiles, log);
      fileChecks = setInterval(() => fileGuard?.check(pushConnections), FILES_CHECK_INTERVAL_MS);
      return { host: channels.host, port: listener.port, tls: tls !== undefined };
    },
    replaceApps(list, changes) {
      const { gone } = apps.replace(list);
      engine.appsChanged();
      taps.apply();
      clients.endAll(new Set(gone), 'app-disabled');
      // Logged here because it is true from here on.
      if (isFirst) log.info('Apps changed', { apps: list.length, ...changes });
    },
    replaceCertificate: (certificate) => listeners.replace(certificate),
    webhookEventsTaken: (events) => webhookRelay.taken(events),
    ruleEventDone: (event) => ruleEvents.done(event),
    webhookEventsOver(ids) {
      for (const id of ids) webhookRelay.over(id);
    },
    pushConnectionsAre(open) {
      pushConnections = open;
    },
    watch: (watched) => taps.watch(watched),
    notifyServers(to, text) {
      void bus?.notify(to, text).then((receivers) => {
        // While Redis is away, `receivers` is undefined. The notice then counts as received, because it will be
        // repeated.
        const isReceived = receivers !== 0;
        if (to !== undefined) options.toBackground({ type: 'cluster-sent', to, isReceived });
      });
    },
    answer: (question) => figures.answer(question),
    backgroundSaidGoodbye: () => goodbye.resolve(),
    async drain() {
      if (isFirst) void bus?.notify(undefined, stoppingNotice(options.serverName));
      sessions.stop();
      sessionCluster?.stop();
      const stopped = listeners.close();
      const { drainSeconds } = config;
      await Promise.all([
        drain(connections, drainSeconds, (connection) => endWith(connection, 'server-stopping')),
        sessionCluster &&
          drain(sessionCluster, drainSeconds, (outlet) => endVisit(outlet, 'server-stopping')),
      ]);
      clearInterval(checks);
      clearInterval(fileChecks);
      // Limited, because a client may keep its end half open forever.
      await withTimeout(STOP_WAIT_MS, stopped);
      await withTimeout(STOP_WAIT_MS, listeners.end());
      await clients.departed();
    },
    async close() {
      // Last, so that no webhook events and no usage are lost.
      taps.stop();
      clearInterval(usageTimer);
      quotas?.stop();
      webhookRelay.flush();
      // Limited, because Redis may be away.
      await withTimeout(STOP_WAIT_MS, engine.close());
      webhookRelay.flush();
      const saved = engine.saveHistories();
      if (saved !== undefined && saved.length > 0) {
        options.toBackground({ type: 'histories', saved });
      }
      keepUsage();
      if (!isFirst) {
        // The main thread stops the background loop, and only its own messages are sure to arrive before that.
        options.toBackground({ type: 'goodbye' });
        await withTimeout(STOP_WAIT_MS, goodbye.promise);
      }
      loopDelay[Symbol.dispose]();
      links[Symbol.dispose]();
    },
  };
}

/** The time for open requests and closing handshakes when the server stops. Milliseconds. */
const STOP_WAIT_MS = 1000;

function restoreHistories({ histories, log }: RealtimeOptions, engine: LoopEngine): void {
  if (histories === undefined) return;
  try {
    engine.restoreHistories(new Uint8Array(histories));
  } catch (error) {
    log.warn('Histories of before the restart cannot be used: clients that resume learn of a gap', {
      why: messageOf(error),
    });
  }
}

function coalescerOfThisLoop(share: LoopShare): Coalescer {
  return new Coalescer({
    now: () => performance.now(),
    busyShare: (nowMs) => share.at(nowMs),
    after: (delayMs, run) => setTimeout(run, delayMs),
    // At the end of a turn Bun first sends what was published, then runs these.
    afterTurn: (run) => void setImmediate(run),
  });
}
