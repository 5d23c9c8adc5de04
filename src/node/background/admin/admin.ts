import type { Config } from '../../../config/schema.ts';
import type { TableMeter } from '../../../observability/meter.ts';
import type { Log } from '../../../runtime/ports.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import { TrustedProxies } from '../../../runtime/trusted-proxies.ts';
import type { UserProxy } from '../../../transports/admin/access.ts';
import { adminBounds } from '../../../transports/admin/bounds.ts';
import { type AdminListener, listenForAdmin } from '../../../transports/admin/listener.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import { freeSocketPath } from '../../free-socket-path.ts';
import type { AdminPasswordSource } from '../../link/messages.ts';
import { listenError } from '../../listen-error.ts';
import type { MemoryPlan } from '../../memory/shares.ts';
import { serverName } from '../../server-name.ts';
import { AdminPassword } from './admin-password.ts';

export interface AdminPartOptions {
  readonly config: Config;
  readonly memory: MemoryPlan;
  readonly readiness: Readiness;
  readonly meter: TableMeter;
  readonly log: Log;
}

/** The admin listener of a server. */
export interface AdminPart extends AdminListener {
  readonly passwordSource: AdminPasswordSource;
}

/** Opens the admin listener. Throws `StartFailed` if its port or its password file cannot be used. */
export async function openAdmin(options: AdminPartOptions): Promise<AdminPart> {
  const { config, memory, readiness, meter, log } = options;
  const { host, port, pathPrefix, httpIdleSeconds } = config.admin;
  await using parts = new AsyncDisposableStack();
  const password = parts.use(AdminPassword.open({ config, timers: systemTimers, log }));
  await freeSocketPath('admin', config.admin);
  let listener: AdminListener;
  try {
    listener = await listenForAdmin({
      host,
      port,
      pathPrefix,
      password: () => password.current,
      // An operator who configured a password expects it to protect the metrics, too.
      metricsAreOpen: password.source === 'file',
      trustedProxies: TrustedProxies.ofListeners(config.trustedProxies),
      userProxy: userProxyOf(config),
      readiness,
      serverName: serverName(config),
      log,
      onRefused: (why) => meter.count('adminRequestsRefused', 1, why),
      bounds: {
        ...adminBounds,
        idleMs: httpIdleSeconds * 1000,
        unreadBytes: memory.shares.adminUnreadBytes,
      },
    });
  } catch (error) {
    throw listenError(error, 'admin', config.admin);
  }
  parts.use(listener);
  const running = parts.move();
  return {
    address: listener.address,
    passwordSource: password.source,
    serve: (routes) => listener.serve(routes),
    makeLogInLink: () => listener.makeLogInLink(),
    drain: () => listener.drain(),
    stopServing: () => listener.stopServing(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function userProxyOf({ admin }: Config): UserProxy | undefined {
  const { proxy } = admin;
  if (proxy === null) return undefined;
  return {
    trusted: new TrustedProxies(proxy.trust),
    userHeader: proxy.userHeader.toLowerCase(),
    groupsHeader: proxy.groupsHeader?.toLowerCase(),
    groupsSeparator: proxy.groupsSeparator,
  };
}
