import type { Monitoring } from '../../../admin/monitoring/monitoring.ts';
import { secretKeyName } from '../../../config/settings/secret-key-name.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import { sqliteFileOf } from '../../../stores/database/database.ts';
import { loopName } from '../../link/loop-name.ts';
import type { ListenerAddress } from '../../link/messages.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import { serverName } from '../../server-name.ts';
import type { BackgroundStart } from '../background.ts';
import { ownInstallation } from '../cluster/installation.ts';
import { type ClusterPart, type OpenClusterOptions, openCluster } from '../cluster/open-cluster.ts';
import type { Foundation } from '../foundation.ts';
import { LogReading } from '../log/log-reading.ts';
import type { Services } from '../services.ts';
import { BackgroundMetrics } from './metrics.ts';
import { Monitor } from './monitor.ts';
import { serverFacts } from './server-facts.ts';

export interface MonitoringOptions
  extends Pick<BackgroundStart, 'config' | 'memory' | 'tlsFiles'>,
    Pick<Foundation, 'ring' | 'logLinesDropped' | 'meter' | 'resolver'>,
    Pick<Foundation, 'readiness' | 'admin' | 'log' | 'database'>,
    Pick<Services, 'tenants' | 'webhooks' | 'usage' | 'push'> {
  readonly realtime: RealtimeClient;
}

/** What operators can see of this server and its cluster. */
export interface MonitoringPart extends Disposable {
  readonly metrics: BackgroundMetrics;
  readonly monitor: Monitor;
  /** The log of this server alone. */
  readonly serverLog: LogReading;
  readonly servers: ClusterPart;
  readonly shown: Monitoring;
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
      saidLast: lastOutcomesOf(options),
    }),
  );
  const { cluster } = servers;
  const running = parts.move();
  return {
    metrics,
    monitor,
    serverLog,
    servers,
    shown: {
      server: facts,
      figures: (sinceMs) => cluster.figures(sinceMs),
      conditions: () => cluster.conditions(),
      nodes: () => cluster.nodes(),
      gateways: (instanceId) => cluster.gateways(instanceId),
    },
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

/** Makes the function that finds the latest outcome of the gateway of an instance on this server. */
function lastOutcomesOf({
  tenants,
  push,
}: Pick<MonitoringOptions, 'tenants' | 'push'>): OpenClusterOptions['saidLast'] {
  const { directory } = tenants.instances;
  return (instanceId, platform) => {
    const number = directory.byId(instanceId)?.number;
    const said = number === undefined ? undefined : push.lastOutcomes(number, platform);
    return { acceptedAtMs: said?.acceptedAtMs || undefined, refusal: said?.refusal };
  };
}
