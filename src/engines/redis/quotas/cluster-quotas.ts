import type { App } from '../../../channels/app.ts';
import type { ConnectionQuota } from '../../../channels/ports.ts';
import { partitionOf } from '../../partition.ts';
import type { Reply } from '../link/reply.ts';
import type { Script } from '../link/script.ts';
import { type Partition, Unavailable } from '../partition.ts';
import { ACTIVITY, SERVERS } from '../scripts/quotas.ts';
import { AppConnections } from './app-connections.ts';

/** Apps in one question, so that no script runs for long. */
const APPS_MAX = 200;

/** What one app does now, on all servers. */
export interface ClusterActivity {
  readonly appId: string;
  readonly connections: number;
  readonly channels: number;
  /** Messages of the day. */
  readonly messages: number;
  readonly clientMessages: number;
}

/** What one server has of each app. */
export interface ServerConnections {
  readonly name: string;
  /** Open connections, by app. */
  readonly connections: ReadonlyMap<string, number>;
}

export interface ClusterFigures {
  readonly apps: readonly ClusterActivity[];
  readonly servers: readonly ServerConnections[];
}

/** What holds for an app on all servers together, and what apps do there. */
export class ClusterQuotas implements ConnectionQuota {
  private readonly partitions: readonly Partition[];
  private readonly connections: readonly AppConnections[];

  constructor(partitions: readonly Partition[]) {
    this.partitions = partitions;
    this.connections = partitions.map((partition) => new AppConnections(partition));
  }

  take(app: App): boolean | Promise<boolean> {
    return this.connectionsOf(app).take(app);
  }

  release(app: App): void {
    this.connectionsOf(app).release(app);
  }

  /** States what has changed. `open`: the open connections of each app on this loop. */
  async share(open: Iterable<readonly [app: App, open: number]>): Promise<void> {
    const all = new Map(open);
    for (const [app, count] of all) this.connectionsOf(app).setOpen(app, count);
    for (const connections of this.connections) {
      for (const app of connections.known()) if (!all.has(app)) connections.setOpen(app, 0);
    }
    await Promise.all(this.connections.map((connections) => connections.share()));
  }

  /** Returns what apps do now. `day`: days since 1970, UTC. Rejects rather than to return a part. */
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
    script: Script,
    args: readonly (string | number)[],
  ): Promise<readonly (readonly Reply[])[]> {
    if (this.partitions.some(({ isReady }) => !isReady)) throw new Unavailable('Redis is away');
    return await Promise.all(this.partitions.map((partition) => partition.call(script, args)));
  }

  private connectionsOf(app: App): AppConnections {
    const connections = this.connections[partitionOf(app, '')];
    if (connections === undefined) throw new Error('The engine has not started');
    return connections;
  }
}
