import type { ServerFacts } from '../../../asking/facts/servers.ts';
import type { Config } from '../../../config/schema.ts';
import { secretKeyName } from '../../../config/settings/secret-key-name.ts';
import type { LineRing } from '../../../observability/line-ring.ts';
import type { TableMeter } from '../../../observability/meter.ts';
import type { Resolver } from '../../../outgoing/resolve.ts';
import type { Log } from '../../../runtime/ports.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import { type Database, sqliteFileOf } from '../../../stores/database/database.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { loopName } from '../../link/loop-name.ts';
import type { ListenerAddress } from '../../link/messages.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import type { MemoryPlan } from '../../memory/shares.ts';
import { serverName } from '../../server-name.ts';
import type { TlsFiles } from '../../tls-files.ts';
import type { AdminPart } from '../admin/admin.ts';
import { ownInstallation } from '../cluster/installation.ts';
import { type ClusterPart, type OpenClusterOptions, openCluster } from '../cluster/open-cluster.ts';
import { LogReading } from '../log/log-reading.ts';
import type { PushPart } from '../push/push.ts';
import type { Tenants } from '../tenants.ts';
import type { UsagePart } from '../usage/open-usage.ts';
import { BackgroundMetrics } from './metrics.ts';
import { Monitor } from './monitor.ts';
import { serverFacts } from './server-facts.ts';

export interface MonitoringOptions {
  readonly config: Config;
  readonly memory: MemoryPlan;
  readonly tlsFiles: TlsFiles;
  readonly realtime: RealtimeClient;
  readonly log: Log;
  /** The latest lines of the log. */
  readonly ring: LineRing;
  /** Log lines of this loop that were dropped so far. */
  readonly logLinesDropped: () => number;
  readonly meter: TableMeter;
  readonly resolver: Resolver;
  readonly readiness: Readiness;
  readonly database: Database;
  readonly admin: AdminPart;
  readonly tenants: Tenants;
  readonly webhooks: Webhooks;
  readonly usage: UsagePart;
  readonly push: PushPart;
}

/** What operators can see of this server and its cluster. */
export interface MonitoringPart extends Disposable {
  readonly metrics: BackgroundMetrics;
  readonly monitor: Monitor;
  /** The log of this server alone. */
  readonly serverLog: LogReading;
  readonly servers: ClusterPart;
  /** What this server is. */
  readonly facts: () => ServerFacts;
  /** Sets the address of the channels listener, once it is known. */
  channelsListenAt(address: ListenerAddress | undefined): void;
}

export function openMonitoring(options: MonitoringOptions): MonitoringPart {
  const { config, realtime, webhooks, push, ring, readiness, admin, log } = options;
  using parts = new DisposableStack();
  const metrics = parts.use(new BackgroundMetrics({ ...options, push: () => push.figures() }));
  const monitor = parts.use(openMonitor(options, metrics));
  let channels: ListenerAddress | undefined;
  const threads = realtime.count;
  const facts = () =>
    serverFacts({ config, threads, channels, push: push.address, admin: admin.address });
  const serverLog = parts.use(
    new LogReading({ node: serverName(config), ring, timers: systemTimers, log }),
  );
  const servers = parts.use(
    openCluster({
      facts,
      realtime,
      monitor,
      readiness,
      webhooks,
      lines: (query) => serverLog.list(query),
      installation: () => ownInstallation(options.database, options.tenants.apps.directory.all()),
      log,
      secretKeyUses: (id) =>
        options.tenants.instances.directory.byId(id)?.keyUses?.shown(secretKeyName) ?? [],
      lastOutcomes: lastOutcomesOf(options),
    }),
  );
  const running = parts.move();
  return {
    metrics,
    monitor,
    serverLog,
    servers,
    facts,
    channelsListenAt(address) {
      channels ??= address;
    },
    [Symbol.dispose]: () => running.dispose(),
  };
}

function openMonitor(options: MonitoringOptions, metrics: BackgroundMetrics): Monitor {
  const { config, tlsFiles, realtime, readiness, tenants, webhooks, usage, push, log } = options;
  return new Monitor({
    realtime,
    loops: Array.from({ length: realtime.count }, (_, loop) => loopName(loop)),
    metrics,
    readiness,
    webhooks,
    apps: tenants.apps,
    instances: tenants.instances,
    usageToday: () => usage.today(),
    circuits: () => push.figures().openCircuits,
    maxConnections: config.channels.maxConnections,
    memoryAllows: options.memory.shares.connections,
    storeFile: sqliteFileOf(config.store.url),
    tls: tlsFiles.listeners,
    log,
  });
}

/** Those of an instance that was just deleted. */
const NO_OUTCOMES = { acceptedAtMs: undefined, refusal: undefined };

/** Makes the function that finds the latest outcome of the gateway of an instance on this server. */
function lastOutcomesOf({
  tenants,
  push,
}: Pick<MonitoringOptions, 'tenants' | 'push'>): OpenClusterOptions['lastOutcomes'] {
  const { directory } = tenants.instances;
  return (instanceId, platform) => {
    const number = directory.byId(instanceId)?.number;
    return number === undefined ? NO_OUTCOMES : push.lastOutcomes(number, platform);
  };
}
