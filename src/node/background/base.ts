import type { Config } from '../../config/schema.ts';
import type { LineRing } from '../../observability/line-ring.ts';
import type { TableMeter } from '../../observability/meter.ts';
import type { ForwardProxy } from '../../outgoing/proxy/forward-proxy.ts';
import type { Resolver } from '../../outgoing/resolve.ts';
import type { Log } from '../../runtime/ports.ts';
import type { Database } from '../../stores/database/database.ts';
import type { Readiness } from '../../transports/admin/readiness.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';
import type { MemoryPlan } from '../memory/shares.ts';
import type { TlsFiles } from '../tls-files.ts';
import type { StoreHealth } from './store/store-health.ts';

/** What the parts of the background loop are opened with. */
export interface BackgroundBase {
  readonly config: Config;
  readonly memory: MemoryPlan;
  readonly tlsFiles: TlsFiles;
  readonly realtime: RealtimeClient;
  readonly log: Log;
  /** The latest lines of the log. */
  readonly ring: LineRing;
  /** Log lines of this loop that were dropped so far. */
  readonly logLinesDropped: () => number;
  readonly meter: TableMeter;
  /** Looks up all host names that tenants choose. */
  readonly resolver: Resolver;
  /** The proxy that requests leave this server through; `undefined` if there is none. */
  readonly proxy: ForwardProxy | undefined;
  readonly readiness: Readiness;
  readonly database: Database;
  readonly health: StoreHealth;
}
