import type { Admin } from '../../../admin/admin.ts';
import { NearSearch } from '../../../admin/channels/near-search.ts';
import { openApi } from '../../../admin/description/openapi.ts';
import { operations } from '../../../admin/operations.ts';
import { DeviceAdmin } from '../../../admin/push/device-admin.ts';
import { PublishAdmin } from '../../../admin/push/publish-admin.ts';
import { rightsOf } from '../../../admin/rights.ts';
import type { PushTaps } from '../../../push/watching/push-tap.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import { StoredAudience } from '../../../stores/push/devices/audience-source.ts';
import { StoredCaps } from '../../../stores/push/devices/device-caps.ts';
import { PublishList } from '../../../stores/push/publishes/publish-list.ts';
import { StoredPublishes } from '../../../stores/push/publishes/publish-store.ts';
import { AppAdmin } from '../../../tenants/manage-apps.ts';
import { InstanceAdmin } from '../../../tenants/manage-instances.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { BackgroundBase } from '../base.ts';
import { Composer } from '../composing/composer.ts';
import type { KeySets } from '../key-sets/key-sets.ts';
import { occupiedChannels } from '../occupied-channels.ts';
import type { MonitoringPart } from '../open-monitoring.ts';
import type { PushPart } from '../push/push.ts';
import { allLoopsServeApps, revokeOnAllLoops, type Tenants } from '../tenants.ts';
import type { UsagePart } from '../usage/open-usage.ts';
import type { Watching } from '../watching.ts';

/** The other parts that operators see and change. */
export interface AdminUses {
  readonly tenants: Tenants;
  readonly webhooks: Webhooks;
  readonly watching: Watching;
  readonly instanceTaps: PushTaps;
  readonly keySets: KeySets;
  readonly usage: UsagePart;
  readonly push: PushPart;
  readonly monitoring: MonitoringPart;
}

/** What the operations of the admin API work with. */
export function adminOf(base: BackgroundBase, uses: AdminUses, audit: Admin['audit']): Admin {
  const { config, database, realtime } = base;
  const { tenants, usage, webhooks, watching, keySets, push } = uses;
  const { servers, facts, serverLog } = uses.monitoring;
  const search = new NearSearch({
    timers: systemTimers,
    occupied: (appId) => occupiedChannels(realtime, appId),
  });
  let description: Admin['description'] | undefined;
  return {
    ...tenantAdminsOf(base, tenants),
    ...pushAdminsOf(base, uses),
    composing: new Composer({
      instances: tenants.instances.directory,
      audience: new StoredAudience(database),
      caps: new StoredCaps(database),
      accept: push.acceptPublish,
      gateways: push.gateways,
      live: push.live,
      timers: systemTimers,
    }),
    revocations: {
      known: tenants.revocations.known,
      page: (appId, page) => tenants.revocations.page(appId, page),
      revoke: async (revocation) =>
        tenants.isStoreOwn ? 'not-shared' : await revokeOnAllLoops(base, tenants, revocation),
    },
    ask: servers.ask,
    near: (appId, names) => search.find(appId, names),
    watch: (query, reader) => watching.open(query, reader),
    server: facts,
    followLog: (filter, reader) => serverLog.follow(filter, reader),
    usage: usage.shown,
    keySet: async (appId) => {
      await keySets.ask(appId, 'any');
      return keySets.reports(appId)[0];
    },
    webhooks,
    audit,
    rightsOf: (caller) => rightsOf(caller, config),
    // Printed on the first request: printing takes 45 ms, an eighth of a start.
    get description() {
      description ??= openApi(operations);
      return description;
    },
  };
}

function tenantAdminsOf(
  { realtime, log }: BackgroundBase,
  { appStore, apps, instanceStore, instances, isStoreOwn }: Tenants,
): Pick<Admin, 'apps' | 'instances'> {
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

function pushAdminsOf(
  { database, log }: BackgroundBase,
  { tenants, instanceTaps: taps, monitoring }: AdminUses,
): Pick<Admin, 'devices' | 'publishes'> {
  const { directory } = tenants.instances;
  const { ask } = monitoring.servers;
  return {
    devices: new DeviceAdmin({
      database,
      instanceOf: (id) => directory.byId(id),
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
