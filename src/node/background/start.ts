import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { Config } from '../../config/schema.ts';
import { LineRing } from '../../observability/line-ring.ts';
import { TableMeter } from '../../observability/meter.ts';
import { openLog } from '../../observability/open-log.ts';
import { createSystemLookup } from '../../outgoing/name-servers.ts';
import { createSendRequest } from '../../outgoing/request.ts';
import { Resolver } from '../../outgoing/resolve.ts';
import { SystemNames } from '../../outgoing/system-names.ts';
import { InstanceTaps } from '../../push/watching/push-tap.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import { LogThrottle } from '../../runtime/log-throttle.ts';
import type { Log } from '../../runtime/ports.ts';
import { monotonicTimers, systemTimers } from '../../runtime/system-timers.ts';
import { AuditStore } from '../../stores/admin/audit-store.ts';
import { type Database, openDatabase, sqliteFileOf } from '../../stores/database/database.ts';
import { StoreLock } from '../../stores/database/store-lock.ts';
import { StoredAudience } from '../../stores/push/devices/audience-source.ts';
import { HourUsageStore } from '../../stores/tenants/hour-usage-store.ts';
import { UsageStore } from '../../stores/tenants/usage-store.ts';
import { StoredOutbox } from '../../stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../../stores/webhooks/outbox-log.ts';
import { Readiness } from '../../transports/admin/readiness.ts';
import { Webhooks } from '../../webhooks/webhooks.ts';
import { loopName } from '../link/loop-name.ts';
import type {
  BackgroundToLoop,
  FromBackground,
  ListenerAddress,
  LoopToBackground,
  RealtimeState,
  ToBackground,
} from '../link/messages.ts';
import { RealtimeClient } from '../link/realtime-client.ts';
import { serverName } from '../server-name.ts';
import { openAdmin } from './admin.ts';
import { adminRoutes } from './admin-routes.ts';
import { openCertificates } from './certificates.ts';
import { openCluster } from './cluster/open-cluster.ts';
import { Composer } from './composing/composer.ts';
import { HistoryFile } from './history-file.ts';
import { LogReading } from './log/log-reading.ts';
import { LoopWatch } from './loop-watch.ts';
import { BackgroundMetrics } from './metrics.ts';
import { Monitor } from './monitoring/monitor.ts';
import { serverFacts } from './monitoring/server-facts.ts';
import { openPush, type PushPart } from './push/push.ts';
import { PushRules } from './push/rules.ts';
import { refusedChanges } from './refused-changes.ts';
import { StoreHealth } from './store-health.ts';
import { openTenants } from './tenants.ts';
import { addedUp, HourlyUsage } from './usage/hourly-usage.ts';
import { UsageWriter } from './usage/usage-writer.ts';
import { openWatching, recordAttempt } from './watching.ts';

const PUSH_CONNECTIONS_INTERVAL_MS = 100;

type StartMessage = Extract<ToBackground, { type: 'start' }>;

/** The running background loop. */
export interface Background {
  /** Stores the state of the realtime loops, and the address that they listen on. */
  realtimeIs(state: RealtimeState, channels: ListenerAddress | undefined): void;
  /** Handles a message of a realtime loop. */
  receive(loop: number, message: LoopToBackground): void;
  /** Applies the tenants of a reloaded configuration, and the certificate of the push listener. */
  reload(config: Config, tls: Certificate | undefined): void;
  stop(): Promise<void>;
}

/**
 * Starts the parts of the background loop. Each part gets the parts that it needs, so the compiler checks most of the
 * order; the comments give the reasons for the rest. Throws what a part throws; the parts that have started are stopped.
 */
export async function startBackground(
  { config, logFormat, logPort, loopPorts, tls }: StartMessage,
  post: (message: FromBackground) => void,
): Promise<Background> {
  await using parts = new AsyncDisposableStack();
  const ring = new LineRing(Date.now());
  const opened = parts.use(
    openLog({
      level: config.log.level,
      format: logFormat,
      port: logPort,
      keep: (line) => ring.add(line),
    }),
  );
  const { log } = opened;
  lowerPriority(log);
  const meter = new TableMeter();
  const resolver = openResolver(log);
  const readiness = new Readiness();
  const realtime = new RealtimeClient([
    post,
    ...loopPorts.map((port) => (message: BackgroundToLoop) => port.postMessage(message)),
  ]);

  const { database, lock } = parts.use(await openStore(config.store.url));
  const health = parts.use(
    new StoreHealth({ database, lock, readiness, log, timers: systemTimers }),
  );
  // Before the tenants: health checks must be answered while a large store is read.
  const admin = parts.use(await openAdmin({ config, readiness, meter, log }));
  const tenants = parts.use(await openTenants({ config, database, health, log }));
  const { apps, instances } = tenants;
  const webhooks = parts.use(
    await Webhooks.open({
      outbox: new StoredOutbox(database),
      outboxLog: new StoredOutboxLog(database),
      app: (id) => apps.directory.byId(id),
      instance: (id) => instances.directory.byId(id),
      settings: config.webhooks,
      send: createSendRequest({ ...config.webhooks, resolver }),
      log,
      timers: systemTimers,
      shared: database.dialect === 'postgres',
      storeState: health.reporter('webhooks'),
      onAttempt: (settlement) => recordAttempt(apps.directory, settlement),
    }),
  );
  const instanceTaps = new InstanceTaps();
  const watching = parts.use(
    openWatching({
      node: serverName(config),
      isOneOfCluster: config.engine.type === 'redis',
      apps: apps.directory,
      instances: instances.directory,
      instanceTaps,
      realtime,
      meter,
      log,
    }),
  );
  const certificates = parts.use(await openCertificates({ config, tls, database, meter, log }));
  readiness.certificateFault = () => certificates.fault();
  const usageStore = new UsageStore(database);
  const usage = parts.use(
    new UsageWriter({ store: usageStore, log, storeState: health.reporter('usage') }),
  );
  const hourlyUsage = parts.use(
    new HourlyUsage({
      store: new HourUsageStore(database),
      countConnections: async () => addedUp(await realtime.askAll({ what: 'open-connections' })),
      timers: systemTimers,
      log,
    }),
  );
  const usageToday = await usage.today();
  // While starting, reads may wait long for another process. From here on, requests are served.
  await database.waitBriefly();
  const push = parts.use(
    await openPush({
      tls: certificates.tls,
      config,
      instances,
      apps,
      realtime,
      taps: instanceTaps,
      webhooks,
      database,
      health,
      resolver,
      meter,
      log,
    }),
  );
  const metrics = parts.use(
    new BackgroundMetrics({
      meter,
      webhooks,
      resolver,
      push: () => push.figures(),
      logLinesDropped: opened.droppedLines,
    }),
  );
  database.onRefused = refusedChanges({
    meter,
    log,
    clock: performance,
    instanceId: (number) => instances.directory.byNumber(number)?.id,
  });
  const monitor = parts.use(
    new Monitor({
      realtime,
      loops: Array.from({ length: realtime.count }, (_, loop) => loopName(loop)),
      metrics,
      readiness,
      webhooks,
      apps,
      instances,
      usageToday: () => usage.today(),
      circuits: () => push.figures().openCircuits,
      maxConnections: config.channels.maxConnections,
      storeFile: sqliteFileOf(config.store.url),
      tls,
      log,
    }),
  );
  let channelsAddress: ListenerAddress | undefined;
  const facts = () =>
    serverFacts({
      config,
      threads: realtime.count,
      channels: channelsAddress,
      push: push.address,
      admin: admin.address,
    });
  const serverLog = parts.use(
    new LogReading({ node: serverName(config), ring, timers: systemTimers, log }),
  );
  const servers = openCluster({
    facts,
    realtime,
    monitor,
    readiness,
    webhooks,
    log: (query) => serverLog.list(query),
    saidLast(instanceId, platform) {
      const number = instances.directory.byId(instanceId)?.number;
      const said = number === undefined ? undefined : push.lastOutcomes(number, platform);
      return { acceptedAtMs: said?.acceptedAtMs || undefined, refusal: said?.refusal };
    },
  });
  const { cluster } = servers;
  const monitoring = {
    server: facts,
    figures: (sinceMs: number) => cluster.figures(sinceMs),
    conditions: () => cluster.conditions(),
    nodes: () => cluster.nodes(),
    gateways: (instanceId: string) => cluster.gateways(instanceId),
  };
  admin.serve(
    adminRoutes({
      config,
      tenants,
      database,
      usage: {
        ofApp: (appId, days) => usageStore.ofApp(appId, days),
        hoursOfApp: (appId, hours) => hourlyUsage.ofApp(appId, hours),
      },
      composing: new Composer({
        instances: instances.directory,
        audience: new StoredAudience(database),
        accept: push.acceptPublish,
        gateways: push.gateways,
        live: push.live,
        timers: systemTimers,
      }),
      webhooks,
      watching,
      instanceTaps,
      cluster,
      realtime,
      metrics,
      monitoring,
      serverLog: {
        list: (query) => cluster.log(query),
        follow: (filter, reader) => serverLog.follow(filter, reader),
      },
      audit: new AuditStore(database),
      log,
    }),
  );
  if (realtime.count > 1) parts.use(new LoopWatch({ realtime, readiness, log }));
  const pushRules = parts.use(
    new PushRules({
      apps: apps.directory,
      instances: instances.directory,
      accept: push.acceptPublish,
      meter,
      clock: monotonicTimers,
      log,
    }),
  );
  // Stops first: the loops have already handed over their histories, and the other parts may take long to stop.
  const historyFile = parts.use(await HistoryFile.open({ config, database, log }));
  const running = parts.move();

  const saved = historyFile.take();
  if (saved !== undefined) post({ type: 'saved-histories', saved });
  post({
    type: 'ready',
    apps: apps.all,
    admin: admin.address,
    adminPassword: admin.passwordSource,
    logInToken: config.dashboard.enabled ? admin.makeLogInLink() : undefined,
    push: push.address,
    createdApp: tenants.createdApp,
    instances: instances.all.map(({ instance }) => instance),
    createdInstance: tenants.createdInstance,
    usage: usageToday,
    tls: certificates.tls,
  });
  // After "ready": the realtime loops have not seen changes that came earlier.
  apps.follow((all, changes) => {
    realtime.postToAll({ type: 'apps', apps: all, changes });
    watching.tenantsChanged();
  });
  instances.follow((all, changes) => {
    push.replaceInstances(all);
    watching.tenantsChanged();
    log.info('Instances changed', { instances: all.length, ...changes });
  });
  health.watch();
  reportPushConnections(push, realtime);
  const receive = (loop: number, message: LoopToBackground): void => {
    switch (message.type) {
      case 'answer':
        realtime.answered(message.number, message.answer);
        return;
      case 'no-answer':
        realtime.notAnswered(message.number, message.why);
        return;
      case 'engine':
        readiness.setEngine(loopName(loop), message.away);
        return;
      case 'usage':
        usage.keep(message.usage);
        hourlyUsage.keep(message.usage);
        return;
      case 'logged':
        for (const line of message.lines) ring.add(line);
        return;
      case 'webhook-events':
        webhooks.accept(message.events, (id) => realtime.webhookEventOver(loop, id));
        realtime.post(loop, { type: 'webhook-events-taken', events: message.events.length });
        return;
      case 'rule-event':
        void pushRules.take(message.event).finally(() => {
          const { appId, data } = message.event;
          realtime.post(loop, { type: 'rule-event-done', appId, dataLength: data.length });
        });
        return;
      case 'cluster-received':
        // Each part ignores messages that are for the other.
        servers.receive(message.notice.from, message.notice.text);
        watching.receive(message);
        return;
      case 'tapped':
      case 'cluster-sent':
        watching.receive(message);
        return;
      case 'histories':
        historyFile.add(message.saved);
        return;
      case 'goodbye':
        realtime.post(loop, message);
        return;
      default:
        message satisfies never;
    }
  };
  for (const [place, port] of loopPorts.entries()) {
    port.onmessage = ({ data }: { readonly data: LoopToBackground }) => receive(place + 1, data);
  }
  const replacePushCertificate = (certificate: Certificate) =>
    void push.replaceCertificate(certificate).then(
      () => log.info('The push listener uses another certificate'),
      (error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        log.error('The push listener keeps its certificate', { why });
      },
    );
  return {
    realtimeIs(state, channels) {
      readiness.setRealtime(state);
      channelsAddress ??= channels;
      if (state !== 'listening') return;
      monitor.start();
      hourlyUsage.start();
      certificates.start((certificate) => {
        post({ type: 'certificate', tls: certificate });
        replacePushCertificate(certificate);
      });
      servers.begin();
    },
    receive,
    reload(changed, certificate) {
      void apps.reconfigure(changed);
      void instances.reconfigure(changed);
      push.reconfigure(changed);
      certificates.reloaded(certificate);
      if (certificate === undefined) return;
      monitor.certificateIs(certificate);
      replacePushCertificate(certificate);
    },
    stop: () => running.disposeAsync(),
  };
}

interface Store extends AsyncDisposable {
  readonly database: Database;
  readonly lock: StoreLock;
}

/** Opens the store at `url`. Takes its lock first, because opening may migrate it. */
async function openStore(url: string): Promise<Store> {
  await using parts = new AsyncDisposableStack();
  const lock = parts.use(StoreLock.take(url));
  const database = parts.use(await openDatabase(url));
  await database.check();
  const running = parts.move();
  return { database, lock, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Opens the resolver for all host names that tenants choose. Its limits hold for the whole process. */
function openResolver(log: Log): Resolver {
  const throttle = new LogThrottle(systemTimers);
  const names = new SystemNames({ now: monotonicTimers.now });
  return new Resolver({
    lookup: createSystemLookup({ names }),
    timers: monotonicTimers,
    onRefused(owner) {
      throttle.run(owner, (throttled) =>
        log.warn('Name lookups refused: too many at once', { owner, ...throttled }),
      );
    },
  });
}

/** Reports the number of push connections to the realtime loops. Runs as long as this thread. */
function reportPushConnections(push: PushPart, realtime: RealtimeClient): void {
  let reported = 0;
  setInterval(() => {
    const open = push.connections();
    if (open !== reported) realtime.postToAll({ type: 'push-connections', open });
    reported = open;
  }, PUSH_CONNECTIONS_INTERVAL_MS).unref();
}

/** Makes the kernel prefer the realtime loop if both share a core. Only Linux has priorities for threads. */
function lowerPriority(log: Log): void {
  if (process.platform !== 'linux') return;
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').pop());
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // A failure does no harm, but deliveries may be slower during heavy background work.
    log.debug('The background thread keeps its normal priority', { why: String(error) });
  }
}
