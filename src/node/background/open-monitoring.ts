import type { ServerFacts } from '../../asking/facts/servers.ts';
import { secretKeyName } from '../../config/settings/secret-key-name.ts';
import { systemTimers } from '../../runtime/system-timers.ts';
import { sqliteFileOf } from '../../stores/database/database.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import { loopName } from '../link/loop-name.ts';
import type { ListenerAddress } from '../link/messages.ts';
import { serverName } from '../server-name.ts';
import type { BackgroundBase } from './base.ts';
import { ownInstallation } from './cluster/installation.ts';
import type { KeySets } from './key-sets/key-sets.ts';
import { LogReading } from './log/log-reading.ts';
import { BackgroundMetrics } from './monitoring/metrics.ts';
import { Monitor } from './monitoring/monitor.ts';
import { serverFacts } from './monitoring/server-facts.ts';
import { type ClusterPart, type OpenClusterOptions, openCluster } from './open-cluster.ts';
import type { PushPart } from './push/push.ts';
import type { SourcesPart } from './sources/sources.ts';
import type { Tenants } from './tenants.ts';
import type { UsagePart } from './usage/open-usage.ts';

/** The other parts that are monitored. */
export interface MonitoringUses {
  readonly adminAddress: ListenerAddress;
  readonly tenants: Tenants;
  readonly webhooks: Webhooks;
  readonly keySets: Pick<KeySets, 'reports'>;
  readonly usage: UsagePart;
  readonly push: PushPart;
  readonly sources: Pick<SourcesPart, 'shown'>;
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

export function openMonitoring(base: BackgroundBase, uses: MonitoringUses): MonitoringPart {
  const { config, realtime, ring, readiness, database, log } = base;
  const { adminAddress: admin, tenants, webhooks, push, sources } = uses;
  using parts = new DisposableStack();
  const metrics = parts.use(
    new BackgroundMetrics({
      ...base,
      webhooks,
      push: () => push.figures(),
      sources: () => sources.shown(),
    }),
  );
  const monitor = parts.use(openMonitor(base, uses, metrics));
  let channels: ListenerAddress | undefined;
  const threads = realtime.count;
  const facts = () => serverFacts({ config, threads, channels, push: push.address, admin });
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
      sources: () => sources.shown(),
      installation: () => ownInstallation(database, tenants.apps.directory.all()),
      log,
      secretKeyUses: (id) =>
        tenants.instances.directory.byId(id)?.keyUses?.shown(secretKeyName) ?? [],
      lastOutcomes: lastOutcomesOf(uses),
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

function openMonitor(
  { config, memory, tlsFiles, realtime, readiness, log }: BackgroundBase,
  { tenants, webhooks, keySets, usage, push, sources }: MonitoringUses,
  metrics: BackgroundMetrics,
): Monitor {
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
    keySets: () => keySets.reports(),
    sources: () => sources.shown(),
    maxConnections: config.channels.maxConnections,
    memoryAllows: memory.shares.connections,
    storeFile: sqliteFileOf(config.store.url),
    tls: tlsFiles.listeners,
    log,
  });
}

/** Those of an instance that was just deleted. */
const NO_OUTCOMES = { acceptedAtMs: undefined, refusal: undefined };

/** Makes the function that finds the latest outcome of the gateway of an instance on this server. */
function lastOutcomesOf({ tenants, push }: MonitoringUses): OpenClusterOptions['lastOutcomes'] {
  const { directory } = tenants.instances;
  return (instanceId, platform) => {
    const number = directory.byId(instanceId)?.number;
    return number === undefined ? NO_OUTCOMES : push.lastOutcomes(number, platform);
  };
}
