import type { Admin, OperatorEvent, ReachedChannel } from '../../../admin/admin.ts';
import type { Inspecting } from '../../../admin/channels/inspecting.ts';
import { NearSearch } from '../../../admin/channels/near-search.ts';
import { openApi } from '../../../admin/description/openapi.ts';
import type { ServerLog } from '../../../admin/log/server-log.ts';
import type { Monitoring } from '../../../admin/monitoring/monitoring.ts';
import { operations } from '../../../admin/operations.ts';
import type { Composing } from '../../../admin/push/composing.ts';
import { DeviceAdmin } from '../../../admin/push/device-admin.ts';
import { PublishAdmin } from '../../../admin/push/publish-admin.ts';
import { rightsOf } from '../../../admin/rights.ts';
import type { Config } from '../../../config/schema.ts';
import type { PushTaps } from '../../../push/watching/push-tap.ts';
import type { Log } from '../../../runtime/ports.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import type { AuditStore } from '../../../stores/admin/audit-store.ts';
import type { Database } from '../../../stores/database/database.ts';
import { PublishList } from '../../../stores/push/publishes/publish-list.ts';
import { StoredPublishes } from '../../../stores/push/publishes/publish-store.ts';
import { AppAdmin } from '../../../tenants/manage-apps.ts';
import { InstanceAdmin } from '../../../tenants/manage-instances.ts';
import { OperationRefused, type RefusalCode } from '../../../tenants/operation-refused.ts';
import type { ApiProblem } from '../../../transports/channels-api/problems.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { addFigures, type RealtimeClient } from '../../link/realtime-client.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { BackgroundMetrics } from '../monitoring/metrics.ts';
import { occupiedChannels } from '../occupied-channels.ts';
import { allLoopsServeApps, type Tenants } from '../tenants.ts';
import type { Watching } from '../watching.ts';
import { answered } from './answered.ts';

export interface AdminParts {
  readonly config: Pick<Config, 'admin' | 'dashboard'>;
  readonly tenants: Tenants;
  readonly database: Database;
  readonly composing: Composing;
  readonly usage: Admin['usage'];
  readonly webhooks: Webhooks;
  readonly watching: Watching;
  readonly instanceTaps: PushTaps;
  readonly cluster: Cluster;
  readonly realtime: RealtimeClient;
  readonly metrics: BackgroundMetrics;
  readonly monitoring: Monitoring;
  readonly serverLog: ServerLog;
  readonly audit: AuditStore;
  readonly log: Log;
}

/** What the operations of the admin API work with. */
export function adminOf(parts: AdminParts, trail: AuditTrail): Admin {
  const { config, audit, composing, usage, webhooks, watching, cluster, realtime, monitoring } =
    parts;
  let description: Admin['description'] | undefined;
  return {
    ...tenantAdminsOf(parts),
    ...pushAdminsOf(parts),
    composing,
    live: liveOf(realtime),
    watch: (query, reader) => watching.open(query, reader),
    inspect: inspectingOf(realtime, cluster),
    keyUses: (tenant) => cluster.keyUses(tenant),
    monitoring,
    serverLog: parts.serverLog,
    usage,
    webhooks: {
      list: (filter) => webhooks.list(filter),
      show: (id) => webhooks.show(id),
      replay: (id) => webhooks.replay(id),
      test: (appId, url) => webhooks.test(appId, url),
      endpoints: (ownerId) => cluster.endpoints(ownerId),
    },
    audit: {
      async list(query) {
        // Waits until the caller's own last action is in the list.
        await trail.settled();
        return await audit.list(query);
      },
    },
    rightsOf: (caller) => rightsOf(caller, config),
    // Printed on the first request: printing takes 45 ms, an eighth of a start.
    get description() {
      description ??= openApi(operations);
      return description;
    },
  };
}

function tenantAdminsOf({ tenants, realtime, log }: AdminParts): Pick<Admin, 'apps' | 'instances'> {
  const { appStore, apps, instanceStore, instances, isStoreOwn } = tenants;
  return {
    apps: new AppAdmin({
      store: appStore,
      configured: () => apps.configured,
      isStoreOwn,
      changed: async () => {
        await apps.poll();
        await allLoopsServeApps(realtime, log);
      },
    }),
    instances: new InstanceAdmin({
      store: instanceStore,
      configured: () => instances.configured,
      isStoreOwn,
      changed: () => instances.poll(),
    }),
  };
}

function pushAdminsOf(parts: AdminParts): Pick<Admin, 'devices' | 'publishes'> {
  const { database, monitoring, instanceTaps: taps, log } = parts;
  const { directory } = parts.tenants.instances;
  return {
    devices: new DeviceAdmin({
      database,
      numberOf: (id) => directory.byId(id)?.number,
      pauses: async (id) => (await monitoring.gateways(id)).pauses,
      taps,
      log,
    }),
    publishes: new PublishAdmin({
      list: new PublishList(database),
      store: new StoredPublishes(database),
      directory,
      taps,
      now: Date.now,
      log,
    }),
  };
}

function liveOf(realtime: RealtimeClient): Admin['live'] {
  const search = new NearSearch({
    timers: systemTimers,
    occupied: (appId) => answered(occupiedChannels(realtime, appId)),
  });
  return {
    near: (appId, names) => search.find(appId, names),
    async figures() {
      // Runs first, so that the answer of any loop includes what all loops of this process know.
      await answered(realtime.askAll({ what: 'share-figures' }));
      return addFigures(await answered(realtime.askAll({ what: 'live-figures' })));
    },
    channels: (query) => answered(realtime.ask({ what: 'live-channels', ...query })),
    send: (event) => sendEvent(realtime, event),
  };
}

function inspectingOf(realtime: RealtimeClient, cluster: Cluster): Inspecting {
  return {
    channel: (appId, channel) =>
      answered(realtime.ask({ what: 'inspect-channel', appId, channel })),
    history: (appId, channel, query) =>
      answered(realtime.ask({ what: 'read-history', appId, channel, query })),
    async forgetHistory(appId, channel) {
      await answered(realtime.ask({ what: 'forget-history', appId, channel }));
    },
    problems: (appId) => cluster.problems(appId),
    connections: (filter) => cluster.connections(filter),
    connection: (appId, socketId, server) => cluster.connection(appId, socketId, server),
    end: (appId, socketId) => cluster.end(appId, socketId),
  };
}

async function sendEvent(
  realtime: RealtimeClient,
  { appId, name, channels, data, socketId }: OperatorEvent,
): Promise<readonly ReachedChannel[]> {
  const json = JSON.stringify({ name, channels, data, socket_id: socketId });
  const answer = await answered(realtime.ask({ what: 'send', appId, json }));
  if ('channels' in answer) return answer.channels;
  const why = answer.why.replace(/^socket_id\b/, 'socketId');
  // The message begins with the name of the field.
  const [, field] = /^([a-z][a-zA-Z]*(?:\[\d+\])?): /.exec(why) ?? [];
  throw new OperationRefused(sendRefusals[answer.refused] ?? 'unavailable', why, field);
}

/** How refusals of the HTTP API appear in the admin API. */
const sendRefusals: Partial<Record<ApiProblem, RefusalCode>> = {
  invalid: 'invalid',
  'not-found': 'not-found',
  'app-disabled': 'conflict',
  'data-too-large': 'too-large',
  'over-quota': 'over-limit',
  'rate-limited': 'over-limit',
};
