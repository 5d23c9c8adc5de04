import type { App } from '../../channels/app.ts';
import type { Hub } from '../../channels/hub.ts';
import type { AppWebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import { WebhookEvents } from '../../channels/lifecycle/webhook-events.ts';
import type { MaybePromise } from '../../channels/maybe-promise.ts';
import { LocalChannels } from '../../channels/subscribing/local-channels.ts';
import { type DayUsage, Usage } from '../../channels/usage.ts';
import { UserSessions } from '../../channels/users/user-sessions.ts';
import type { Config } from '../../config/schema.ts';
import { MemoryEngine } from '../../engines/memory.ts';
import { LoopDelay } from '../../observability/loop-delay.ts';
import { TableMeter } from '../../observability/meter.ts';
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
import { readOpenFiles } from '../open-files.ts';
import { Figures } from './figures.ts';
import {
  connectionLimit,
  logConnectionLimit,
  subscriptionLimit,
  waitingBytesLimit,
} from './limits.ts';
import { Listeners } from './listeners.ts';

/**
 * Each connection is checked once a second, a tenth of them at a time: checking 10,000 at once blocked the loop for 3 ms.
 * Milliseconds.
 */
const CHECK_INTERVAL_MS = 100;
const CHECK_PARTS = 10;

/**
 * The interval of counting descriptors, which takes 3 µs. Several thousand connections may come in a second, and the
 * descriptors reserved for the server itself must last until the next count. Milliseconds.
 */
const FILES_CHECK_INTERVAL_MS = 20;

/** The interval of storing usage: a crash loses no more than this and one commit. Milliseconds. */
const USAGE_INTERVAL_MS = 500;

export interface RealtimeOptions {
  readonly config: Config;
  readonly apps: readonly App[];
  /** The usage of today before this start. */
  readonly usage: readonly DayUsage[];
  readonly tls: Certificate | undefined;
  readonly timers: Timers;
  readonly log: Log;
  /** Log lines that were dropped so far. */
  readonly logLinesDropped: () => number;
  readonly keepUsage: (usage: readonly DayUsage[]) => void;
  readonly sendWebhookEvents: (events: readonly AppWebhookEvent[]) => void;
}

/** The realtime loop: WebSockets and the HTTP API of Channels. It owns no disk and runs no SQL. */
export interface Realtime {
  readonly listener: ListenerAddress;
  /** Replaces the list of apps; ends the connections of apps that are gone. `changes` is for the log. */
  replaceApps(apps: readonly App[], changes: ChangedIds): void;
  webhookEventsTaken(events: number): void;
  /** Sets how many connections the push listener has. */
  pushConnectionsAre(open: number): void;
  /** Uses another certificate for new connections. Throws, and keeps the old one, if it cannot be used. */
  replaceCertificate(tls: Certificate): void;
  answer(question: Question): MaybePromise<Questions[Question['what']]['answer']>;
  /** Stops listening, and ends all connections over the drain time. */
  stop(): Promise<void>;
}

export function startRealtime(options: RealtimeOptions): Realtime {
  const { config, timers, log, tls } = options;
  const { channels } = config;

  const apps = new MemoryAppDirectory();
  apps.replace(options.apps);
  const meter = new TableMeter();
  const loopDelay = new LoopDelay();
  const rateLimitedLog = new RateLimitedLog(log, monotonicTimers);
  const usage = new Usage(timers, log, meter);
  usage.restore(options.usage);
  const webhookRelay = new WebhookRelay({
    send: options.sendWebhookEvents,
    meter,
    log: rateLimitedLog,
  });

  const openFiles = readOpenFiles();
  const connections = new Connections(connectionLimit(channels, openFiles));
  const slowConsumers = new SlowConsumers({
    connections,
    bytesMax: channels.sendBufferBytes,
    totalBytesMax: waitingBytesLimit(channels),
    end: (connection) => void setImmediate(() => connection.terminate()),
  });
  const coalescer = coalescerOfThisLoop();
  const native = new WebSocketTopics(slowConsumers, coalescer);
  const audience = new ClientAudience({ native, connections, meter });
  const webhooks = new WebhookEvents({ clock: timers, usage, sink: webhookRelay });
  const engine = new MemoryEngine({
    timers,
    webhooks,
    broadcaster: { audience, usage },
    terminate: (app, userId) => clients.terminate(app, userId),
  });
  const hub: Hub = {
    audience,
    authority: engine,
    channels: new LocalChannels(subscriptionLimit(channels)),
    clock: timers,
    log,
    rateLimitedLog,
    meter,
    webhooks,
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
    rateLimitedLog,
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

  const figures = new Figures({
    apps,
    connections,
    authority: engine,
    home: engine.home,
    usage,
    meter,
    loopDelay,
    logLinesDropped: options.logLinesDropped,
  });

  return {
    listener: { host: channels.host, port, tls: tls !== undefined },
    replaceApps(list, changes) {
      clients.endAll(new Set(apps.replace(list).gone), 'app-disabled');
      // Logged here, because from here on it is true.
      log.info('Apps changed', { apps: list.length, ...changes });
    },
    replaceCertificate: (certificate) => listeners.replace(certificate),
    webhookEventsTaken: (events) => webhookRelay.taken(events),
    pushConnectionsAre(open) {
      pushConnections = open;
    },
    answer: (question) => figures.answer(question),
    async stop() {
      const stopped = listeners.close();
      await drain(connections, config.drainSeconds, (connection) =>
        endWith(connection, 'server-stopping'),
      );
      clearInterval(checks);
      clearInterval(fileChecks);
      // With a limit: a client may keep its end half open for ever.
      await withTimeout(STOP_WAIT_MS, stopped);
      await withTimeout(STOP_WAIT_MS, listeners.end());
      // Last, so that webhook events and usage of everything above are not lost.
      clearInterval(usageTimer);
      await clients.departed();
      engine.home.flush();
      webhookRelay.flush();
      keepUsage();
      loopDelay[Symbol.dispose]();
    },
  };
}

/** The time for requests and closing handshakes in flight when the server stops. Milliseconds. */
const STOP_WAIT_MS = 1000;

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
