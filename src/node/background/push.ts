import type { Config } from '../../config/schema.ts';
import type { TableMeter } from '../../observability/meter.ts';
import type { Resolver } from '../../outgoing/resolve.ts';
import { CompletionEvents } from '../../push/delivering/completion-events.ts';
import type { PipelineFigures } from '../../push/delivering/pipeline.ts';
import type { PushInstance } from '../../push/model/instance.ts';
import { StoreBusy } from '../../push/store-faults.ts';
import { LogThrottle } from '../../runtime/log-throttle.ts';
import type { Log } from '../../runtime/ports.ts';
import { RateLimitedLog } from '../../runtime/rate-limited-log.ts';
import { monotonicTimers, systemTimers } from '../../runtime/system-timers.ts';
import { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import type { Database } from '../../stores/database/database.ts';
import { isStatementFault } from '../../stores/database/faults.ts';
import { StoredDevices } from '../../stores/push/devices/device-store.ts';
import { GarbageCollector } from '../../stores/push/garbage-collector.ts';
import { StoredDeliveries } from '../../stores/push/jobs/delivery-store.ts';
import { StoredStories } from '../../stores/push/publishes/device-story.ts';
import { StoredUntoldEnds } from '../../stores/push/publishes/pending-completion-events.ts';
import { StoredPublishes } from '../../stores/push/publishes/publish-store.ts';
import { StoredInstances } from '../../stores/tenants/instance-store.ts';
import { createFirstInstance } from '../../tenants/first-start.ts';
import { type LiveInstance, LiveInstances } from '../../tenants/live-instances.ts';
import { pushBounds } from '../../transports/push-api/bounds.ts';
import { DeviceRates } from '../../transports/push-api/endpoints/device/device-rates.ts';
import { createPushEndpoints } from '../../transports/push-api/endpoints/endpoints.ts';
import { listenForPush, type PushListener } from '../../transports/push-api/listener.ts';
import { UNSEEN_FACTOR } from '../../transports/push-api/server/http-server.ts';
import { PushWebhooks } from '../../webhooks/push-events.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import type { Certificate, ListenerAddress } from '../link/messages.ts';
import { listenError } from '../listen-error.ts';
import { readOpenFiles } from '../open-files.ts';
import { openPushDelivery } from './push-delivery.ts';
import type { StoreHealth } from './store-health.ts';
import { Sweeper } from './sweeper.ts';

export interface PushPartOptions {
  readonly config: Config;
  readonly tls: Certificate | undefined;
  readonly instances: PushInstances;
  readonly webhooks: Webhooks;
  readonly database: Database;
  readonly health: StoreHealth;
  readonly resolver: Resolver;
  readonly meter: TableMeter;
  readonly log: Log;
}

/** The push side of a server, as it runs. */
export interface PushPart extends AsyncDisposable {
  readonly address: ListenerAddress;
  /** At the time of the start. */
  readonly instances: readonly PushInstance[];
  /** The id of the instance that was made because there was none. */
  readonly createdInstance: string | undefined;
  readonly store: StoredInstances;
  readonly served: LiveInstances;
  figures(): PipelineFigures;
  /** How many connections the listener has now. */
  connections(): number;
  /** Looks from now on for changes that other processes make. */
  watch(): void;
  /** Takes over another configuration and certificate. */
  reconfigure(config: Config, tls: Certificate | undefined): Promise<void>;
}

/** The instances, served before anything else of the push side: webhooks that wait belong to them. */
export interface PushInstances extends AsyncDisposable {
  readonly store: StoredInstances;
  readonly served: LiveInstances;
  /** At the time of the start. */
  readonly begun: readonly LiveInstance[];
  readonly createdInstance: string | undefined;
}

/** Reads the instances, and makes one where there is none. Throws what the store throws. */
export async function openPushInstances({
  config,
  database,
  health,
  log,
}: Pick<PushPartOptions, 'config' | 'database' | 'health' | 'log'>): Promise<PushInstances> {
  const store = new StoredInstances(database);
  const createdInstance = await createFirstInstance(store, config);
  const served = new LiveInstances({
    store,
    config,
    log,
    storeState: health.toldBy('instances'),
  });
  const begun = await served.begin();
  return {
    store,
    served,
    begun,
    createdInstance,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

/** Opens the listener for devices and backends that publish. Throws `StartFailed`, or what the store throws. */
export async function openPush(options: PushPartOptions): Promise<PushPart> {
  const { config, database, health, instances, webhooks, log } = options;
  const { store, served, begun, createdInstance } = instances;

  await using parts = new AsyncDisposableStack();
  const strangerLog = new RateLimitedLog(log, monotonicTimers);
  const publishes = new StoredPublishes(database);
  const deliveries = new StoredDeliveries(database);
  const stories = new StoredStories(database);
  const sink = new PushWebhooks({ instances: served.directory, webhooks, now: Date.now });
  const delivery = parts.use(
    openPushDelivery({
      database,
      store: deliveries,
      served: begun,
      configured: new Set(served.configured.map(({ id }) => id)),
      health,
      resolver: options.resolver,
      events: (instanceId) =>
        new CompletionEvents({
          publishes,
          stories,
          untold: new StoredUntoldEnds(database),
          sink,
          instanceId,
          isAlone: database.dialect === 'sqlite',
          timers: systemTimers,
          storeFailed: health.toldBy('push'),
          log,
        }),
      log,
      strangerLog,
    }),
  );
  served.follow((changed) => delivery.replace(changed));
  const garbage = new GarbageCollector(database);
  parts.use(
    new Sweeper({
      sweepSome: (nowMs) => garbage.collectSome(nowMs),
      storeFailed: health.toldBy('push'),
      now: Date.now,
    }),
  );
  const listener = parts.use(await openListener(options));
  const settings = settingsOf(config, listener);
  const devices = new StoredDevices(database);
  const toldByPush = health.toldBy('push');
  const refusals = new LogThrottle({ now: Date.now });
  const limits = () => settings.addressLimits;
  const rates = new DeviceRates({ limits, now: Date.now, log, refusals });
  listener.serve(
    createPushEndpoints({
      instances: served.directory,
      devices,
      publishes,
      stories,
      pauses: () => delivery.figures().pauses,
      webhooks: sink,
      storeFault: () => health.fault(),
      storeFailed(error) {
        // The store works, and who has too many changes waiting is logged where they are refused.
        if (error instanceof StoreBusy) return;
        if (!isStatementFault(error)) toldByPush(error);
        // One statement's fault, or one instance's: the others are still served.
        else log.error('The store did not do what the push API asked', { why: String(error) });
      },
      storeWorked: () => toldByPush(undefined),
      accepted: () => delivery.wake(),
      now: Date.now,
      log,
      strangerLog,
      refusals,
      rates,
      settings,
    }),
    (head) => rates.refuseAddress('requests', head),
  );
  const running = parts.move();
  return {
    address: listener.address,
    instances: begun.map(({ instance }) => instance),
    createdInstance,
    store,
    served,
    figures: () => delivery.figures(),
    connections: () => listener.connections(),
    watch: () => served.watch(),
    async reconfigure(changed, tls) {
      Object.assign(settings, settingsOf(changed, listener));
      await Promise.all([
        served.reconfigure(changed),
        tls === undefined ? undefined : listener.replaceCertificate(tls),
      ]);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function openListener({ config, tls, meter, log }: PushPartOptions): Promise<PushListener> {
  const { host, port, maxConnections, bodyBytesPerSecond, addressLimits } = config.push;
  const { connectionsPerSecond } = addressLimits;
  const connections = Math.min(maxConnections, connectionRoom(tls !== undefined));
  try {
    return await listenForPush(
      { host, port, tls },
      {
        log,
        meter: { count: (id, by, _family, status) => meter.count(id, by, status) },
        proxies: new TrustedProxies(config.trustedProxies),
      },
      { ...pushBounds, connections, connectionsPerSecond, bodyBytesPerSecond },
    );
  } catch (error) {
    throw listenError(error, 'push', config.push);
  }
}

/** How many connections open files allow. */
function connectionRoom(hasTls: boolean): number {
  const openFiles = readOpenFiles();
  if (openFiles === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(openFiles.push / (hasTls ? UNSEEN_FACTOR : 1)));
}

function settingsOf({ push }: Config, { address }: PushListener) {
  const { tokenLeewaySeconds, tokenIssuers, publicUrl, addressLimits } = push;
  return { tokenLeewaySeconds, tokenIssuers, publicUrl, addressLimits, tls: address.tls };
}
