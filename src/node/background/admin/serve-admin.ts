import type { Config } from '../../../config/schema.ts';
import type { PushTaps } from '../../../push/watching/push-tap.ts';
import type { Log } from '../../../runtime/ports.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import { AuditStore } from '../../../stores/admin/audit-store.ts';
import type { Database } from '../../../stores/database/database.ts';
import { StoredAudience } from '../../../stores/push/devices/audience-source.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import { Composer } from '../composing/composer.ts';
import type { MonitoringPart } from '../monitoring/open-monitoring.ts';
import type { PushPart } from '../push/push.ts';
import type { Tenants } from '../tenants.ts';
import type { UsagePart } from '../usage/open-usage.ts';
import type { Watching } from '../watching.ts';
import type { AdminPart } from './admin.ts';
import { adminRoutes } from './admin-routes.ts';

export interface ServeAdminOptions {
  readonly config: Config;
  readonly admin: AdminPart;
  readonly database: Database;
  readonly tenants: Tenants;
  readonly webhooks: Webhooks;
  readonly watching: Watching;
  readonly instanceTaps: PushTaps;
  readonly usage: UsagePart;
  readonly push: PushPart;
  readonly realtime: RealtimeClient;
  readonly monitoring: MonitoringPart;
  readonly log: Log;
}

/** Makes the admin listener, which answers health checks already, serve the metrics, the admin API and the dashboard. */
export function serveAdmin(options: ServeAdminOptions): void {
  const { admin, database, tenants, usage, push, monitoring } = options;
  const { metrics, serverLog, servers, facts } = monitoring;
  admin.serve(
    adminRoutes({
      ...options,
      usage: usage.shown,
      composing: new Composer({
        instances: tenants.instances.directory,
        audience: new StoredAudience(database),
        accept: push.acceptPublish,
        gateways: push.gateways,
        live: push.live,
        timers: systemTimers,
      }),
      ask: servers.ask,
      server: facts,
      followLog: (filter, reader) => serverLog.follow(filter, reader),
      metrics,
      audit: new AuditStore(database),
    }),
  );
}
