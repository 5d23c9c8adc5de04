import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { AppWebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import type { DayUsage } from '../../channels/usage.ts';
import type { Config } from '../../config/schema.ts';
import { TableMeter } from '../../observability/meter.ts';
import { openLog } from '../../observability/open-log.ts';
import { createSystemLookup } from '../../outgoing/name-servers.ts';
import { createSendRequest } from '../../outgoing/request.ts';
import { Resolver } from '../../outgoing/resolve.ts';
import { SystemNames } from '../../outgoing/system-names.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import { LogThrottle } from '../../runtime/log-throttle.ts';
import type { Log } from '../../runtime/ports.ts';
import { monotonicTimers, systemTimers } from '../../runtime/system-timers.ts';
import { openDatabase } from '../../stores/database/database.ts';
import { isStoreFault, plainFault, StoreUnavailable } from '../../stores/database/faults.ts';
import { StoreLock } from '../../stores/database/store-lock.ts';
import { DeviceList } from '../../stores/push/devices/device-list.ts';
import { AppStore } from '../../stores/tenants/app-store.ts';
import { UsageStore } from '../../stores/tenants/usage-store.ts';
import { StoredOutbox } from '../../stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../../stores/webhooks/outbox-log.ts';
import { newAppId, newAppKey } from '../../tenants/credentials.ts';
import { LiveApps } from '../../tenants/live-apps.ts';
import { Readiness } from '../../transports/admin/readiness.ts';
import { openWebhooks } from '../../webhooks/webhooks.ts';
import type { ToBackground, ToRealtime } from '../link/messages.ts';
import { RealtimeClient } from '../link/realtime-client.ts';
import { StartFailed } from '../start-failed.ts';
import { openAdmin } from './admin.ts';
import { adminRoutes } from './admin-routes.ts';
import { BackgroundMetrics } from './metrics.ts';
import { openPush, openPushInstances, type PushPart } from './push.ts';
import { refusedChanges } from './refused-changes.ts';
import { StoreHealth } from './store-health.ts';
import { UsageWriter } from './usage-writer.ts';

/**
 * The loop for everything that touches SQL or a slow network, on a thread of its own: the store, the apps
 * in it, the admin listener. `server.ts` starts it as a worker.
 */

declare const self: Worker;

const tell = (message: ToRealtime) => self.postMessage(message);

/** What the other messages need once the loop has started. */
interface Background {
  readonly readiness: Readiness;
  answered(number: number, answer: unknown): void;
  keepUsage(usage: readonly DayUsage[]): void;
  acceptWebhookEvents(events: readonly AppWebhookEvent[]): void;
  /** Takes over the apps and instances of another configuration, and the certificate of the push listener. */
  reload(config: Config, tls: Certificate | undefined): void;
  stop(): Promise<void>;
}

let background: Background | undefined;

self.addEventListener('message', ({ data }: MessageEvent<ToBackground>) => {
  switch (data.type) {
    case 'start':
      start(data).then(
        (started) => {
          background = started;
        },
        (error: unknown) => tell({ type: 'failed', fault: faultOf(error) }),
      );
      return;
    case 'realtime':
      background?.readiness.setRealtime(data.state);
      return;
    case 'answer':
      background?.answered(data.number, data.answer);
      return;
    case 'webhook-events':
      background?.acceptWebhookEvents(data.events);
      return;
    case 'reload':
      background?.reload(data.config, data.tls);
      return;
    case 'usage':
      background?.keepUsage(data.usage);
      return;
    case 'stop':
      (background?.stop() ?? Promise.resolve()).then(() => tell({ type: 'stopped' }));
      return;
    default:
      data satisfies never;
  }
});

function faultOf(error: unknown): { exitCode: 1 | 2; message: string } {
  if (error instanceof StartFailed) return { exitCode: error.exitCode, message: error.message };
  if (error instanceof StoreUnavailable) return { exitCode: 1, message: error.message };
  if (isStoreFault(error)) {
    return { exitCode: 1, message: `The store cannot be used: ${plainFault(error)}` };
  }
  return {
    exitCode: 1,
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}

async function start({
  config,
  logFormat,
  logPort,
  tls,
}: Extract<ToBackground, { type: 'start' }>): Promise<Background> {
  await using parts = new AsyncDisposableStack();
  const { level } = config.log;
  const opened = parts.use(openLog({ level, format: logFormat, port: logPort }));
  const { log } = opened;
  preferRealtime(log);

  // Before anything in the store is changed.
  const storeLock = parts.use(StoreLock.take(config.store.url));
  const database = parts.use(await openDatabase(config.store.url));
  await database.check();
  const store = new AppStore(database);
  const createdApp = await createFirstApp(store, config);
  const readiness = new Readiness();
  const health = parts.use(
    new StoreHealth({ database, lock: storeLock, readiness, log, timers: systemTimers }),
  );
  const served = parts.use(
    new LiveApps({
      store,
      config,
      log,
      changed: (apps, changes) => tell({ type: 'apps', apps, changes }),
      storeState: health.toldBy('apps'),
    }),
  );
  const realtime = new RealtimeClient((number, question) =>
    tell({ type: 'ask', number, question }),
  );
  const meter = new TableMeter();
  const admin = parts.use(await openAdmin({ config, readiness, meter, log }));
  const resolver = openResolver(log);
  // Before the webhooks: what waits in the outbox is given up where its app or instance is not known.
  const apps = await served.begin();
  const instances = parts.use(await openPushInstances({ config, database, health, log }));
  const webhooks = parts.use(
    await openWebhooks({
      outbox: new StoredOutbox(database),
      outboxLog: new StoredOutboxLog(database),
      app: (id) => served.directory.byId(id),
      instance: (id) => instances.served.directory.byId(id),
      settings: config.webhooks,
      send: createSendRequest({ ...config.webhooks, resolver }),
      log,
      timers: systemTimers,
      shared: database.dialect === 'postgres',
      storeState: health.toldBy('webhooks'),
    }),
  );
  const usageStore = new UsageStore(database);
  const usage = parts.use(new UsageWriter(usageStore, log, health.toldBy('usage')));
  const metrics = parts.use(
    new BackgroundMetrics({ meter, webhooks, resolver, logLinesDropped: opened.droppedLines }),
  );
  const usedToday = await usage.today();
  await database.waitBriefly();
  const push = parts.use(
    await openPush({
      config,
      tls,
      instances,
      webhooks,
      database,
      health,
      resolver,
      meter,
      log,
    }),
  );
  metrics.follow(() => push.figures());
  database.onRefused = refusedChanges({
    meter,
    log,
    clock: performance,
    instanceId: (number) => push.served.directory.byNumber(number)?.id,
  });
  admin.serve(
    adminRoutes({
      store,
      served,
      instanceStore: push.store,
      servedInstances: push.served,
      devices: new DeviceList(database),
      usage: usageStore,
      webhooks,
      realtime,
      metrics,
      log,
    }),
  );
  const running = parts.move();

  tell({
    type: 'ready',
    apps,
    admin: admin.address,
    adminPassword: admin.passwordSource,
    push: push.address,
    createdApp,
    instances: push.instances,
    createdInstance: push.createdInstance,
    usage: usedToday,
  });
  served.watch();
  push.watch();
  health.watch();
  tellPushConnections(push);
  return {
    readiness,
    answered: (number, answer) => realtime.answered(number, answer),
    keepUsage: (used) => usage.keep(used),
    acceptWebhookEvents(events) {
      webhooks.accept(events);
      tell({ type: 'webhook-events-taken', events: events.length });
    },
    reload(changed, certificate) {
      void served.reconfigure(changed);
      push.reconfigure(changed, certificate).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        log.error('The push listener keeps its certificate', { why });
      });
    },
    stop: () => running.disposeAsync(),
  };
}

/** How often the realtime loop hears how many push connections there are. Milliseconds. */
const PUSH_CONNECTIONS_MS = 100;

/** Tells the realtime loop of push connections for as long as this thread lives. */
function tellPushConnections(push: PushPart): void {
  let told = 0;
  setInterval(() => {
    const open = push.connections();
    if (open !== told) tell({ type: 'push-connections', open });
    told = open;
  }, PUSH_CONNECTIONS_MS).unref();
}

/** For all names that tenants choose: its bounds hold for the whole process. */
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

/** Where both loops share a core, the kernel must prefer the other one. Linux knows priorities per thread. */
function preferRealtime(log: Log): void {
  if (process.platform !== 'linux') return;
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').pop());
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // Deliveries may take longer beside heavy background work; everything still works.
    log.debug('The background thread keeps its priority', { why: String(error) });
  }
}

/** A server without any app is of no use: the first start makes one. Its id, or `undefined`. */
async function createFirstApp(store: AppStore, config: Config): Promise<string | undefined> {
  if (config.channels.apps !== undefined || (await store.list()).length > 0) return undefined;
  const id = newAppId();
  const app = { id, name: 'default', enabled: true, keys: [newAppKey()], settings: {} };
  return (await store.createFirst(app, Date.now())) ? id : undefined;
}
