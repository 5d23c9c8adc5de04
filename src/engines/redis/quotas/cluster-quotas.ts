import type { App } from '../../../channels/app.ts';
import { EngineUnavailable } from '../../../channels/engine-failure.ts';
import type { ConnectionQuota } from '../../../channels/ports.ts';
import type { AppActivity } from '../../../channels/usage/app-activity.ts';
import type { SharedUsage } from '../../../channels/usage/usage.ts';
import type { Timers } from '../../../runtime/ports.ts';
import { every } from '../../../runtime/time/every.ts';
import { partitionOf } from '../../partition.ts';
import type { Reply } from '../link/reply.ts';
import type { RedisScript } from '../link/script.ts';
import type { Partition } from '../partition.ts';
import { ACTIVITY, SERVERS } from '../scripts/quotas.ts';
import { AppConnections } from './app-connections.ts';
import { ClusterUsage, type ClusterUsageParts } from './cluster-usage.ts';

/** The limit of apps in one question, so that no script runs for long. */
const APPS_MAX = 200;

/** The pause between two statements of usage that is not urgent for other servers. */
const SHARE_MS = 1000;

/** What one server has, by app. */
export interface ServerConnections {
  readonly name: string;
  /** Open connections, by app. */
  readonly connections: ReadonlyMap<string, number>;
}

export interface ClusterFigures {
  readonly apps: readonly AppActivity[];
  readonly servers: readonly ServerConnections[];
}

export interface ClusterQuotasOptions {
  /** The name of this server, for operators. */
  readonly serverName: string;
  readonly timers: Timers;
  /** The open connections of each app on this loop. */
  readonly openConnections: () => Iterable<readonly [app: App, open: number]>;
}

/** The limits of apps that hold for all servers together, and the figures of apps on all servers. */
export class ClusterQuotas implements ConnectionQuota {
  readonly serverName: string;
  private readonly options: ClusterQuotasOptions;
  private readonly clusterUsage = new ClusterUsage();
  private partitions: readonly Partition[] = [];
  private connections: readonly AppConnections[] = [];
  private stopSharing: (() => void) | undefined;

  constructor(options: ClusterQuotasOptions) {
    this.options = options;
    this.serverName = options.serverName;
  }

  /** The usage of this loop. */
  get usage(): SharedUsage {
    return this.clusterUsage.shared;
  }

  /** Starts sharing. Must be called first. */
  start(parts: ClusterUsageParts): void {
    this.partitions = parts.partitions;
    this.connections = this.partitions.map((partition) => new AppConnections(partition));
    this.clusterUsage.start(parts);
    this.stopSharing = every(this.options.timers, SHARE_MS, () => void this.share());
  }

  /** Shares the remaining usage, for the last time. */
  async stop(): Promise<void> {
    this.stopSharing?.();
    await this.clusterUsage.share();
  }

  /** Forgets what a deleted app has used. */
  forgetApp(id: string): void {
    this.clusterUsage.forget(id);
  }

  take(app: App): boolean | Promise<boolean> {
    return this.connectionsOf(app).take(app);
  }

  release(app: App): void {
    this.connectionsOf(app).release(app);
  }

  /** States what is not urgent for other servers. */
  async share(): Promise<void> {
    const open = new Map(this.options.openConnections());
    for (const [app, count] of open) this.connectionsOf(app).setOpen(app, count);
    for (const connections of this.connections) {
      for (const app of connections.known()) if (!open.has(app)) connections.setOpen(app, 0);
    }
    await Promise.all([
      this.clusterUsage.share(),
      ...this.connections.map((connections) => connections.share()),
    ]);
  }

  /** Returns the present figures of all apps. `day`: days since 1970, UTC. Rejects if a partition does not answer. */
  async figures(apps: readonly App[], day: number): Promise<ClusterFigures> {
    const sums = new Map(apps.map(({ id }) => [id, { channels: 0, backend: 0, clients: 0 }]));
    for (let n = 0; n < apps.length; n += APPS_MAX) {
      const some = apps.slice(n, n + APPS_MAX).map(({ id }) => id);
      for (const rows of await this.askAll(ACTIVITY, [day, ...some])) {
        for (const [place, row] of (rows as readonly string[][]).entries()) {
          const sum = sums.get(some[place] ?? '');
          if (sum === undefined) continue;
          sum.channels += Number(row[0]);
          sum.backend += Number(row[1]);
          sum.clients += Number(row[2]);
        }
      }
    }
    const servers = await this.servers();
    const connectionsOf = (appId: string) =>
      servers.reduce((sum, { connections }) => sum + (connections.get(appId) ?? 0), 0);
    return {
      servers,
      apps: Array.from(sums, ([appId, { channels, backend, clients }]) => ({
        appId,
        connections: connectionsOf(appId),
        channels,
        messages: backend + clients,
        clientMessages: clients,
      })),
    };
  }

  /** Returns the open connections of each app that has any, on all servers. At most one second old. */
  async openConnections(): Promise<readonly (readonly [appId: string, open: number])[]> {
    const sums = new Map<string, number>();
    for (const { connections } of await this.servers()) {
      for (const [appId, open] of connections) sums.set(appId, (sums.get(appId) ?? 0) + open);
    }
    return [...sums];
  }

  private async servers(): Promise<readonly ServerConnections[]> {
    const servers = new Map<string, Map<string, number>>();
    for (const rows of await this.askAll(SERVERS, [])) {
      for (const [name, fields] of rows as readonly [string, readonly string[]][]) {
        const connections = servers.get(name) ?? new Map<string, number>();
        servers.set(name, connections);
        for (let n = 0; n < fields.length; n += 2) {
          const [appId = '', held = ''] = fields.slice(n, n + 2);
          const open = Number(held.split(' ')[1]);
          connections.set(appId, (connections.get(appId) ?? 0) + open);
        }
      }
    }
    return Array.from(servers, ([name, connections]) => ({ name, connections }));
  }

  private async askAll(
    script: RedisScript,
    args: readonly (string | number)[],
  ): Promise<readonly (readonly Reply[])[]> {
    if (this.partitions.some(({ isReady }) => !isReady))
      throw new EngineUnavailable('Redis is away');
    return await Promise.all(this.partitions.map((partition) => partition.call(script, args)));
  }

  private connectionsOf(app: App): AppConnections {
    const connections = this.connections[partitionOf(app, '')];
    if (connections === undefined) throw new Error('The engine has not started');
    return connections;
  }
}
