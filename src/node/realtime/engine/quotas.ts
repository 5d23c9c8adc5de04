import type { ConnectionQuota } from '../../../channels/ports.ts';
import type { SharedUsage } from '../../../channels/usage/usage.ts';
import type { Config } from '../../../config/schema.ts';
import { LocalConnectionQuota } from '../../../engines/local-connection-quota.ts';
import type { RedisLogins, RedisTls } from '../../../engines/redis/link/connector.ts';
import { LoopBus } from '../../../engines/redis/loop-bus.ts';
import { ClusterQuotas } from '../../../engines/redis/quotas/cluster-quotas.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { ClientConnections } from '../../../transports/clients/connections.ts';
import { redisLoginsOf } from '../../redis-logins.ts';
import type { LoopBase } from '../loop-base.ts';
import { QuotaExchange } from './quota-exchange.ts';

/** What a loop shares with the loops of all servers over Redis. */
export interface ClusterLinks {
  readonly settings: Extract<Config['engine'], { type: 'redis' }>;
  /** What the next connections to Redis use for TLS. */
  tls: RedisTls;
  /** What they log in with. */
  logins: RedisLogins;
  /** Carries messages between the loops of all servers. */
  readonly bus: LoopBus;
  /** The quotas and rates of apps on all servers. */
  readonly quotas: ClusterQuotas;
}

/** How the quotas of apps are counted: by this loop alone, by all loops of this process, or by all servers. */
export interface Quotas {
  /** Only with an engine on Redis. */
  readonly cluster: ClusterLinks | undefined;
  /** Only between several loops of a process without Redis. */
  readonly exchange: QuotaExchange | undefined;
  readonly usage: SharedUsage | undefined;
  readonly connections: ConnectionQuota;
}

export function openQuotas(base: LoopBase, open: ClientConnections): Quotas {
  const { links, totals } = base;
  const cluster = linkCluster(base, open);
  if (cluster !== undefined) {
    const { quotas } = cluster;
    return { cluster, exchange: undefined, usage: quotas.usage, connections: quotas };
  }
  const exchange = links.count > 1 ? new QuotaExchange(links) : undefined;
  const connections = new LocalConnectionQuota(totals?.appConnections);
  return { cluster, exchange, usage: exchange?.usage, connections };
}

function linkCluster(
  { config, redisTls, links, serverName, toBackground }: LoopBase,
  connections: ClientConnections,
): ClusterLinks | undefined {
  const { engine: settings } = config;
  if (settings.type !== 'redis') return undefined;
  const isFirst = links.index === 0;
  return {
    settings,
    tls: redisTls,
    logins: redisLoginsOf(settings),
    bus: new LoopBus(
      settings.keyPrefix,
      // One loop of each server speaks for it.
      isFirst ? (notice) => toBackground({ type: 'cluster-received', notice }) : undefined,
    ),
    quotas: new ClusterQuotas({
      serverName,
      timers: monotonicTimers,
      openConnections: () => connections.openByApp(),
    }),
  };
}
