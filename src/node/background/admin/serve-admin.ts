import { systemTimers } from '../../../runtime/system-timers.ts';
import { AuditStore } from '../../../stores/admin/audit-store.ts';
import { StoredAudience } from '../../../stores/push/devices/audience-source.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import type { BackgroundStart } from '../background.ts';
import { Composer } from '../composing/composer.ts';
import type { Foundation } from '../foundation.ts';
import type { MonitoringPart } from '../monitoring/open-monitoring.ts';
import type { Services } from '../services.ts';
import { adminRoutes } from './admin-routes.ts';

export interface ServeAdminOptions
  extends Pick<BackgroundStart, 'config'>,
    Pick<Foundation, 'admin' | 'database' | 'log'>,
    Pick<Services, 'tenants' | 'webhooks' | 'watching' | 'instanceTaps' | 'usage' | 'push'> {
  readonly realtime: RealtimeClient;
  readonly monitoring: MonitoringPart;
}

/** Makes the admin listener, which answers health checks already, serve the metrics, the admin API and the dashboard. */
export function serveAdmin(options: ServeAdminOptions): void {
  const { admin, database, tenants, usage, push, monitoring } = options;
  const { metrics, serverLog, servers, shown } = monitoring;
  const { cluster } = servers;
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
      cluster,
      metrics,
      monitoring: shown,
      serverLog: {
        list: (query) => cluster.log(query),
        follow: (filter, reader) => serverLog.follow(filter, reader),
      },
      audit: new AuditStore(database),
    }),
  );
}
