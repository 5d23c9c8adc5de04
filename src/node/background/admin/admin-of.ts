import type { Admin } from '../../../admin/admin.ts';
import { NearSearch } from '../../../admin/channels/near-search.ts';
import { openApi } from '../../../admin/description/openapi.ts';
import { operations } from '../../../admin/operations.ts';
import type { Composing } from '../../../admin/push/composing.ts';
import { DeviceAdmin } from '../../../admin/push/device-admin.ts';
import { PublishAdmin } from '../../../admin/push/publish-admin.ts';
import { rightsOf } from '../../../admin/rights.ts';
import type { AskByName } from '../../../asking/asker.ts';
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
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';

import type { BackgroundMetrics } from '../monitoring/metrics.ts';
import { occupiedChannels } from '../occupied-channels.ts';
import { allLoopsServeApps, type Tenants } from '../tenants.ts';
import type { Watching } from '../watching.ts';

export interface AdminParts {
  readonly config: Pick<Config, 'admin' | 'dashboard'>;
  readonly tenants: Tenants;
  readonly database: Database;
  readonly composing: Composing;
  readonly usage: Admin['usage'];
  readonly webhooks: Webhooks;
  readonly watching: Watching;
  readonly instanceTaps: PushTaps;
  readonly ask: AskByName;
  readonly realtime: RealtimeClient;
  readonly metrics: BackgroundMetrics;
  readonly server: Admin['server'];
  readonly followLog: Admin['followLog'];
  readonly audit: AuditStore;
  readonly log: Log;
}

/** What the operations of the admin API work with. */
export function adminOf(parts: AdminParts, trail: AuditTrail): Admin {
  const { config, ask, audit, composing, usage, webhooks, watching, realtime } = parts;
  const search = new NearSearch({
    timers: systemTimers,
    occupied: (appId) => occupiedChannels(realtime, appId),
  });
  let description: Admin['description'] | undefined;
  return {
    ...tenantAdminsOf(parts),
    ...pushAdminsOf(parts),
    composing,
    ask,
    near: (appId, names) => search.find(appId, names),
    watch: (query, reader) => watching.open(query, reader),
    server: parts.server,
    followLog: parts.followLog,
    usage,
    webhooks,
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
  const { ask, database, instanceTaps: taps, log } = parts;
  const { directory } = parts.tenants.instances;
  return {
    devices: new DeviceAdmin({
      database,
      numberOf: (id) => directory.byId(id)?.number,
      async pauses(instanceId) {
        const { answer } = await ask.everywhere('gateways', { instanceId });
        return answer.pauses;
      },
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
