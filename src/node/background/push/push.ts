import type { Config } from '../../../config/schema.ts';
import { CompletionEvents } from '../../../push/delivering/completion-events.ts';
import type { PipelineFigures } from '../../../push/delivering/pipeline.ts';
import { RateExchange, unshared } from '../../../push/rate-exchange.ts';
import { StoreBusy } from '../../../push/store-faults.ts';
import type { PushTaps } from '../../../push/watching/push-tap.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import { RateLimitedLog } from '../../../runtime/logging/rate-limited-log.ts';
import type { Log } from '../../../runtime/ports.ts';
import { monotonicTimers, systemTimers } from '../../../runtime/system-timers.ts';
import { PatientClock } from '../../../runtime/time/patient-clock.ts';
import type { Certificate } from '../../../runtime/tls/certificate.ts';
import { isStatementFault } from '../../../stores/database/faults.ts';
import { StoredBacklog } from '../../../stores/push/backlog/backlog-store.ts';
import { GarbageCollector } from '../../../stores/push/garbage-collector.ts';
import { StoredDeliveries } from '../../../stores/push/jobs/delivery-store.ts';
import { StoredStories } from '../../../stores/push/publishes/device-story.ts';
import { StoredLive } from '../../../stores/push/publishes/live-results.ts';
import { PendingBodies } from '../../../stores/push/publishes/pending-bodies.ts';
import { StoredPendingCompletionEvents } from '../../../stores/push/publishes/pending-completion-events.ts';
import { StoredPublishes } from '../../../stores/push/publishes/publish-store.ts';
import { StoredRates } from '../../../stores/push/shared-rates.ts';
import type { LiveInstance } from '../../../tenants/push-instance.ts';
import { ListenerHealth } from '../../../transports/health.ts';
import type { AcceptPublish } from '../../../transports/push-api/endpoints/backend/publish.ts';
import type { PushListener } from '../../../transports/push-api/listener.ts';
import { PushWebhooks } from '../../../webhooks/push-events.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { ListenerAddress } from '../../link/messages.ts';
import type { BackgroundBase } from '../base.ts';
import type { StoreHealth } from '../store/store-health.ts';
import type { Tenants } from '../tenants.ts';
import { openPushDelivery, type PushDelivery } from './delivery.ts';
import { startGarbageLoop } from './garbage-loop.ts';
import { LivePushes } from './live-pushes.ts';
import { openListener, serveApi, settingsOf } from './push-api.ts';

/** The other parts that push uses. */
export interface PushUses {
  readonly tls: Certificate | undefined;
  readonly tenants: Tenants;
  readonly taps: PushTaps;
  readonly webhooks: Webhooks;
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
  /** Serves a request that came to the port of Channels. */
  readonly serveForwarded: PushListener['serveForwarded'];
  /** Sets what health checks at the listener are answered. */
  setReadiness(isReady: boolean): void;
  /** Lets each connection close after its next answer. */
  drain(): void;
}

/** What the parts of the push side share. */
interface Shared extends StoreFaults {
  readonly publishes: StoredPublishes;
  readonly backlog: StoredBacklog;
  readonly stories: StoredStories;
  readonly sink: PushWebhooks;
  readonly live: LivePushes;
  readonly rateLimitedLog: RateLimitedLog;
}

/** Opens the push API and starts to deliver. Throws `StartFailed`, or what the store throws. */
export async function openPush(base: BackgroundBase, uses: PushUses): Promise<PushPart> {
  const { config, database, health, realtime, meter, log } = base;
  const { tls, taps, webhooks } = uses;
  const { apps, instances } = uses.tenants;
  await using parts = new AsyncDisposableStack();
  const faults = storeFaults(health, log);
  const { storeFailed } = faults;
  const live: LivePushes = parts.use(
    new LivePushes({
      realtime,
      apps: apps.directory,
      instance: (number) => instances.directory.byNumber(number),
      store: new StoredLive(database),
      meter,
      wake: () => delivery.wake(),
      storeFailed,
    }),
  );
  const pendingBodies = new PendingBodies();
  const shared: Shared = {
    publishes: new StoredPublishes(database, pendingBodies),
    backlog: new StoredBacklog(database, pendingBodies),
    stories: new StoredStories(database),
    sink: new PushWebhooks({ instances: instances.directory, webhooks, now: Date.now }),
    live,
    ...faults,
    rateLimitedLog: new RateLimitedLog(log, monotonicTimers),
  };
  const delivery: PushDelivery = parts.use(openDelivery(base, uses, shared));
  const garbage = new GarbageCollector(database);
  const collecting = startGarbageLoop({
    collectSome: (nowMs) => garbage.collectSome(nowMs),
    storeFailed,
    clock: new PatientClock({ system: systemTimers, monotonic: monotonicTimers }),
    timers: monotonicTimers,
  });
  parts.defer(() => collecting.stop());
  const checks = new ListenerHealth();
  const listener = parts.use(await openListener(base, tls, checks));
  let settings = settingsOf(config, listener);
  const exchange = parts.use(
    new RateExchange({ store: new StoredRates(database), timers: systemTimers, storeFailed }),
  );
  const acceptPublish = serveApi({
    ...base,
    ...shared,
    instances,
    taps,
    delivery,
    listener,
    settings: () => settings,
    shareRate: database.dialect === 'sqlite' ? unshared : exchange.share,
  });
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
    serveForwarded: (request, answer) => listener.serveForwarded(request, answer),
    setReadiness: (isReady) => checks.setReady(isReady),
    drain() {
      checks.stop();
      listener.drain();
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Where the push side reports whether it could use the store. */
interface StoreFaults {
  readonly storeFailed: (error: unknown) => void;
  readonly storeWorked: () => void;
}

function storeFaults(health: StoreHealth, log: Log): StoreFaults {
  const report = health.reporter('push');
  return {
    storeFailed(error) {
      // The store itself works. `refusedChanges` has already logged which instance has too many changes waiting.
      if (error instanceof StoreBusy) return;
      if (!isStatementFault(error)) report(error);
      // The fault of a single statement or instance, so the others continue to be served.
      else log.error('The store failed to run a statement of push', { why: messageOf(error) });
    },
    storeWorked: () => void report(undefined),
  };
}

function openDelivery(
  { database, memory, resolver, proxy, log }: BackgroundBase,
  { tenants, taps }: PushUses,
  shared: Shared,
): PushDelivery {
  const { instances } = tenants;
  const { publishes, backlog, stories, sink, live, storeFailed, rateLimitedLog } = shared;
  return openPushDelivery({
    live,
    database,
    store: new StoredDeliveries(database),
    backlog,
    served: instances.all,
    taps,
    configured: new Set(instances.configured.map(({ id }) => id)),
    storeFailed,
    resolver,
    devicesMax: memory.shares.pushDevices,
    proxy,
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
  });
}
