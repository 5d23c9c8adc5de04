import type { Config } from '../../../config/schema.ts';
import type { TableMeter } from '../../../observability/meter.ts';
import type { Resolver } from '../../../outgoing/resolve.ts';
import { CompletionEvents } from '../../../push/delivering/completion-events.ts';
import type { PipelineFigures } from '../../../push/delivering/pipeline.ts';
import { RateExchange, unshared } from '../../../push/rate-exchange.ts';
import { StoreBusy } from '../../../push/store-faults.ts';
import type { PushTaps } from '../../../push/watching/push-tap.ts';
import type { Certificate } from '../../../runtime/certificate.ts';
import { LogThrottle } from '../../../runtime/log-throttle.ts';
import type { Log } from '../../../runtime/ports.ts';
import { RateLimitedLog } from '../../../runtime/rate-limited-log.ts';
import { monotonicTimers, systemTimers } from '../../../runtime/system-timers.ts';
import { TrustedProxies } from '../../../runtime/trusted-proxies.ts';
import type { Database } from '../../../stores/database/database.ts';
import { isStatementFault } from '../../../stores/database/faults.ts';
import { StoredDevices } from '../../../stores/push/devices/device-store.ts';
import { GarbageCollector } from '../../../stores/push/garbage-collector.ts';
import { StoredDeliveries } from '../../../stores/push/jobs/delivery-store.ts';
import { StoredStories } from '../../../stores/push/publishes/device-story.ts';
import { StoredLive } from '../../../stores/push/publishes/live-results.ts';
import { StoredPendingCompletionEvents } from '../../../stores/push/publishes/pending-completion-events.ts';
import { StoredPublishes } from '../../../stores/push/publishes/publish-store.ts';
import { StoredRates } from '../../../stores/push/shared-rates.ts';
import type { LiveApps, LiveInstances } from '../../../tenants/live-tenants.ts';
import type { LiveInstance } from '../../../tenants/push-instance.ts';
import { pushBounds } from '../../../transports/push-api/bounds.ts';
import type { AcceptPublish } from '../../../transports/push-api/endpoints/backend/publish.ts';
import { DeviceRates } from '../../../transports/push-api/endpoints/device/device-rates.ts';
import { createPushEndpoints } from '../../../transports/push-api/endpoints/endpoints.ts';
import { PushListener } from '../../../transports/push-api/listener.ts';
import { RUNTIME_LIMIT_FACTOR } from '../../../transports/push-api/server/http-server.ts';
import { PushWebhooks } from '../../../webhooks/push-events.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { ListenerAddress } from '../../link/messages.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import { listenError } from '../../listen-error.ts';
import { readOpenFiles } from '../../open-files.ts';
import type { StoreHealth } from '../store/store-health.ts';
import { openPushDelivery, type PushDelivery } from './delivery.ts';
import { GarbageLoop } from './garbage-loop.ts';
import { LivePushes } from './live-pushes.ts';

export interface PushPartOptions {
  readonly config: Config;
  readonly tls: Certificate | undefined;
  readonly instances: LiveInstances;
  readonly apps: LiveApps;
  readonly realtime: RealtimeClient;
  readonly taps: PushTaps;
  readonly webhooks: Webhooks;
  readonly database: Database;
  readonly health: StoreHealth;
  readonly resolver: Resolver;
  readonly meter: TableMeter;
  readonly log: Log;
}

/** The push side of a server. */
export interface PushPart extends AsyncDisposable {
  readonly address: ListenerAddress;
  figures(): PipelineFigures;
  /** The number of open connections. */
  connections(): number;
  readonly lastOutcomes: PushDelivery['lastOutcomes'];
  readonly gateways: PushDelivery['gateways'];
  /** Accepts a publish that an operator sends. */
  readonly acceptPublish: AcceptPublish;
  readonly live: LivePushes;
  replaceInstances(live: readonly LiveInstance[]): void;
  /** Applies the settings of a reloaded configuration. */
  reconfigure(config: Config): void;
  /** Rejects if the certificate cannot be used; the previous one then stays. */
  replaceCertificate(tls: Certificate): Promise<void>;
}

/** Opens the push API and starts to deliver. Throws `StartFailed`, or what the store throws. */
export async function openPush(options: PushPartOptions): Promise<PushPart> {
  const { config, database, health, instances, taps, webhooks, log } = options;
  await using parts = new AsyncDisposableStack();
  const rateLimitedLog = new RateLimitedLog(log, monotonicTimers);
  const reportStore = health.reporter('push');
  const storeFailed = (error: unknown) => {
    // The store itself works. `refusedChanges` has already logged which instance has too many changes waiting.
    if (error instanceof StoreBusy) return;
    if (!isStatementFault(error)) reportStore(error);
    // The fault of a single statement or instance, so the others continue to be served.
    else log.error('The store failed to run a statement of push', { why: String(error) });
  };
  const publishes = new StoredPublishes(database);
  const deliveries = new StoredDeliveries(database);
  const stories = new StoredStories(database);
  const sink = new PushWebhooks({ instances: instances.directory, webhooks, now: Date.now });
  const live: LivePushes = new LivePushes({
    realtime: options.realtime,
    apps: options.apps.directory,
    instance: (number) => instances.directory.byNumber(number),
    store: new StoredLive(database),
    meter: options.meter,
    wake: () => delivery.wake(),
    storeFailed,
  });
  const delivery: PushDelivery = parts.use(
    openPushDelivery({
      live,
      database,
      store: deliveries,
      served: instances.all,
      taps,
      configured: new Set(instances.configured.map(({ id }) => id)),
      storeFailed,
      resolver: options.resolver,
      events: (instanceId) =>
        new CompletionEvents({
          publishes,
          stories,
          pending: new StoredPendingCompletionEvents(database),
          sink,
          instanceId,
          isAlone: database.dialect === 'sqlite',
          timers: systemTimers,
          storeFailed,
          log,
        }),
      log,
      rateLimitedLog,
    }),
  );
  const garbage = new GarbageCollector(database);
  parts.use(
    new GarbageLoop({
      collectSome: (nowMs) => garbage.collectSome(nowMs),
      storeFailed,
      now: Date.now,
    }),
  );
  const listener = parts.use(await openListener(options));
  let settings = settingsOf(config, listener);
  const devices = new StoredDevices(database);
  const logThrottle = new LogThrottle({ now: Date.now });
  const limits = () => settings.addressLimits;
  const exchange = parts.use(
    new RateExchange({ store: new StoredRates(database), timers: systemTimers, storeFailed }),
  );
  const shareRate = database.dialect === 'sqlite' ? unshared : exchange.share;
  const rates = new DeviceRates({ limits, now: Date.now, log, logThrottle, shareRate });
  const { endpoints, acceptPublish } = createPushEndpoints({
    instances: instances.directory,
    devices,
    publishes,
    stories,
    pauses: () => delivery.figures().openCircuits,
    webhooks: sink,
    taps,
    storeFault: () => health.fault(),
    storeFailed,
    storeWorked: () => reportStore(undefined),
    live,
    accepted: () => delivery.wake(),
    now: Date.now,
    log,
    rateLimitedLog,
    logThrottle,
    rates,
    shareRate,
    settings: () => settings,
  });
  listener.serve(endpoints, (head) => rates.refuseAddress('requests', head));
  const running = parts.move();
  return {
    address: listener.address,
    figures: () => delivery.figures(),
    connections: () => listener.connections(),
    acceptPublish,
    live,
    lastOutcomes: delivery.lastOutcomes,
    gateways: delivery.gateways,
    replaceInstances: (live) => delivery.replace(live),
    reconfigure(changed) {
      settings = settingsOf(changed, listener);
    },
    replaceCertificate: (certificate) => listener.replaceCertificate(certificate),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function openListener({ config, tls, meter, log }: PushPartOptions): Promise<PushListener> {
  const { host, port, maxConnections, bodyBytesPerSecond, addressLimits } = config.push;
  const { connectionsPerSecond } = addressLimits;
  const connections = Math.min(maxConnections, connectionRoom(tls !== undefined));
  try {
    return await PushListener.open(
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

/** How many connections the limit of open files allows. */
function connectionRoom(hasTls: boolean): number {
  const openFiles = readOpenFiles();
  if (openFiles === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(openFiles.push / (hasTls ? RUNTIME_LIMIT_FACTOR : 1)));
}

function settingsOf({ push }: Config, { address }: PushListener) {
  const { tokenLeewaySeconds, tokenIssuers, publicUrl, addressLimits } = push;
  return { tokenLeewaySeconds, tokenIssuers, publicUrl, addressLimits, tls: address.tls };
}
