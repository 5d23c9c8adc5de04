import { LineRing } from '../../observability/line-ring.ts';
import { TableMeter } from '../../observability/meter.ts';
import { openLog } from '../../observability/open-log.ts';
import type { ForwardProxy } from '../../outgoing/proxy/forward-proxy.ts';
import type { Resolver } from '../../outgoing/resolve.ts';
import type { Log } from '../../runtime/ports.ts';
import type { Database } from '../../stores/database/database.ts';
import { Readiness } from '../../transports/admin/readiness.ts';
import { type AdminPart, openAdmin } from './admin/admin.ts';
import type { BackgroundStart } from './background.ts';
import { openForwardProxy } from './forward-proxy.ts';
import { openResolver } from './resolver.ts';
import { openStore } from './store/open-store.ts';
import type { StoreHealth } from './store/store-health.ts';
import { lowerPriority } from './thread-priority.ts';

/** What works before the tenants are read: the log, the store, and the admin listener with its health checks. */
export interface Foundation extends AsyncDisposable {
  readonly log: Log;
  /** The latest lines of the log. */
  readonly ring: LineRing;
  /** Log lines of this loop that were dropped so far. */
  readonly logLinesDropped: () => number;
  readonly meter: TableMeter;
  readonly resolver: Resolver;
  readonly proxy: ForwardProxy | undefined;
  readonly readiness: Readiness;
  readonly database: Database;
  readonly health: StoreHealth;
  readonly admin: AdminPart;
}

export async function openFoundation({
  config,
  memory,
  tlsFiles,
  logFormat,
  logPort,
}: Pick<
  BackgroundStart,
  'config' | 'memory' | 'tlsFiles' | 'logFormat' | 'logPort'
>): Promise<Foundation> {
  await using parts = new AsyncDisposableStack();
  const ring = new LineRing(Date.now());
  const opened = parts.use(
    openLog({
      level: config.log.level,
      format: logFormat,
      port: logPort,
      keep: (line) => ring.add(line),
    }),
  );
  const { log } = opened;
  lowerPriority(log);
  const meter = new TableMeter();
  const resolver = openResolver(log);
  const proxy = openForwardProxy(config, resolver, log);
  const readiness = new Readiness();
  const { database, health } = parts.use(
    await openStore({ url: config.store.url, tls: tlsFiles.store, readiness, log }),
  );
  // Before the tenants: health checks must be answered while a large store is read.
  const admin = parts.use(await openAdmin({ config, memory, readiness, meter, log }));
  const running = parts.move();
  return {
    log,
    ring,
    logLinesDropped: opened.droppedLines,
    meter,
    resolver,
    proxy,
    readiness,
    database,
    health,
    admin,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
