import type { Revocation } from '../../channels/grants/revocations.ts';
import { hasOwnStore } from '../../config/settings/own-store.ts';
import { messageOf } from '../../runtime/error-code.ts';
import type { Log } from '../../runtime/ports.ts';
import { monotonicTimers, systemTimers } from '../../runtime/system-timers.ts';
import { AppStore } from '../../stores/tenants/app-store.ts';
import { StoredInstances } from '../../stores/tenants/instance-store.ts';
import { RevocationStore } from '../../stores/tenants/revocation-store.ts';
import { createFirstApp, createFirstInstance } from '../../tenants/first-start.ts';
import {
  type LiveApps,
  type LiveInstances,
  openLiveApps,
  openLiveInstances,
} from '../../tenants/live-tenants.ts';
import { LiveRevocations } from '../../tenants/revocations.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';
import { StartFailed } from '../start-failed.ts';
import type { BackgroundBase } from './base.ts';

/** The apps and instances of a server. */
export interface Tenants extends AsyncDisposable {
  readonly appStore: AppStore;
  readonly apps: LiveApps;
  /** What is revoked of the grants of apps. */
  readonly revocations: LiveRevocations;
  /** The id of the app that was created because there was none. */
  readonly createdApp: string | undefined;
  readonly instanceStore: StoredInstances;
  readonly instances: LiveInstances;
  /** The id of the instance that was created because there was none. */
  readonly createdInstance: string | undefined;
  /** Whether other servers of the cluster use a different store. */
  readonly isStoreOwn: boolean;
}

/**
 * Reads the apps and instances. Creates one of each if there are none. Throws `StartFailed`, or what the store
 * throws.
 */
export async function openTenants(base: BackgroundBase): Promise<Tenants> {
  const { config, database, health, log } = base;
  await using parts = new AsyncDisposableStack();
  const appStore = new AppStore(database);
  const createdApp = await createFirstApp(appStore, config);
  const revocations = parts.use(
    new LiveRevocations({
      store: new RevocationStore(database),
      timers: systemTimers,
      monotonic: monotonicTimers,
      log,
    }),
  );
  const apps = parts.use(
    await openLiveApps({
      store: appStore,
      revision: () => revocations.revisionOfApps(),
      config,
      log,
      storeState: health.reporter('apps'),
    }),
  );
  const instanceStore = new StoredInstances(database);
  const createdInstance = await createFirstInstance(instanceStore, config, apps.all[0]?.id);
  const instances = parts.use(
    await openLiveInstances({
      store: instanceStore,
      config,
      log,
      storeState: health.reporter('instances'),
    }),
  );
  const isStoreOwn = hasOwnStore(config);
  if (isStoreOwn) {
    const stored = [...(await appStore.list()), ...(await instanceStore.list())].map(
      ({ id }) => id,
    );
    if (stored.length > 0) throw new StartFailed({ exitCode: 2, message: notShared(stored) });
  }
  const running = parts.move();
  return {
    appStore,
    apps,
    revocations,
    createdApp,
    instanceStore,
    instances,
    createdInstance,
    isStoreOwn,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function notShared(ids: readonly string[]): string {
  return `store.url: the store holds ${ids.join(', ')}, which other servers do not see; move them to the configuration and delete them here, or set store.url to postgres://…`;
}

/** Revokes grants. Settles when all realtime loops know it. Throws what the store throws, or that a loop does not answer. */
export async function revokeOnAllLoops(
  { realtime }: Pick<BackgroundBase, 'realtime'>,
  { revocations }: Pick<Tenants, 'revocations'>,
  revocation: Revocation,
): Promise<'revoked' | 'too-many'> {
  const outcome = await revocations.revoke(revocation);
  // Messages to a loop arrive in order, so a loop that answers knows the revocation.
  if (outcome === 'revoked') await realtime.askAll('ping', {});
  return outcome;
}

/** Settles when all realtime loops serve the apps of the last change. A busy loop does so later: that is logged. */
export async function allLoopsServeApps(realtime: RealtimeClient, log: Log): Promise<void> {
  try {
    // Messages to a loop arrive in order, so a loop that answers has the changed apps.
    await realtime.askAll('ping', {});
  } catch (error) {
    log.warn('A changed app is not served yet', { why: messageOf(error) });
  }
}
