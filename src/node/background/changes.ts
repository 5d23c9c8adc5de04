import type { Certificate } from '../../runtime/certificate.ts';
import { messageOf } from '../../runtime/error-code.ts';
import type { Log } from '../../runtime/ports.ts';
import { unrefTimers } from '../../runtime/system-timers.ts';
import { every } from '../../runtime/time/every.ts';
import { watchedInstance } from '../../watching/records.ts';
import type { FromBackground } from '../link/messages.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';
import type { TlsFiles } from '../tls-files.ts';
import type { Background } from './background.ts';
import type { Foundation } from './foundation.ts';
import type { Monitor } from './monitoring/monitor.ts';
import type { PushPart } from './push/push.ts';
import type { Services } from './services.ts';
import type { TlsRenewal, TlsRenewalOptions } from './tls-renewal.ts';

const PUSH_CONNECTIONS_INTERVAL_MS = 100;

export interface TenantFollowers
  extends Pick<Services, 'tenants' | 'watching' | 'push' | 'usage' | 'webhooks'> {
  readonly realtime: RealtimeClient;
  readonly log: Log;
}

/** Passes on every later change of an app or instance. */
export function followTenants(followers: TenantFollowers): void {
  const { tenants, watching, push, usage, webhooks, realtime, log } = followers;
  tenants.apps.follow((all, change) => {
    // First: what the loops of deleted apps still report is then for nobody.
    usage.forget(change.deleted);
    webhooks.forget('app', change.deleted);
    realtime.postToAll({ type: 'apps', apps: all, change });
    watching.tenantsChanged(change.deleted);
  });
  tenants.instances.follow((all, { ids, deleted }) => {
    webhooks.forget('instance', deleted);
    push.replaceInstances(all);
    watching.tenantsChanged(deleted.map(watchedInstance));
    log.info('Instances changed', { instances: all.length, ...ids });
  });
}

/** Settles when all realtime loops serve the apps of the last change. A busy loop does so later: that is logged. */
export async function allLoopsServeApps({
  realtime,
  log,
}: Pick<TenantFollowers, 'realtime' | 'log'>): Promise<void> {
  try {
    // Messages to a loop arrive in order, so a loop that answers has the changed apps.
    await realtime.askAll({ what: 'ping' });
  } catch (error) {
    log.warn('A changed app is not served yet', { why: messageOf(error) });
  }
}

/** Reports the number of push connections to the realtime loops. Runs as long as this thread. */
export function reportPushConnections(push: PushPart, realtime: RealtimeClient): void {
  let reported = 0;
  every(unrefTimers, PUSH_CONNECTIONS_INTERVAL_MS, () => {
    const open = push.connections();
    if (open !== reported) realtime.postToAll({ type: 'push-connections', open });
    reported = open;
  });
}

/** Sets the certificate of the push listener. If it cannot be used, that is logged, and the listener keeps its own. */
export async function replacePushCertificate(
  { push, log }: { readonly push: PushPart; readonly log: Log },
  certificate: Certificate,
): Promise<void> {
  try {
    await push.replaceCertificate(certificate);
    log.info('The push listener uses another certificate');
  } catch (error) {
    log.error('The push listener keeps its certificate', { why: messageOf(error) });
  }
}

/** Who uses the files of TLS in this loop, and hands them to the others. */
export interface TlsUsers
  extends Pick<Services, 'push' | 'certificates'>,
    Pick<Foundation, 'database'> {
  readonly monitor: Monitor;
  readonly realtime: RealtimeClient;
  readonly log: Log;
}

/** Makes the function that uses renewed files. `post` sends to the main thread, which has the channels listener. */
export function tlsUserOf(
  users: TlsUsers,
  post: (message: FromBackground) => void,
): TlsRenewalOptions['use'] {
  return (now, before) => {
    useLinkTls(users, now);
    const { listeners } = now;
    if (listeners === undefined || Bun.deepEquals(listeners, before.listeners)) return;
    post({ type: 'certificate', tls: listeners });
    users.certificates.reloaded(listeners);
    void useCertificate(users, listeners);
  };
}

/** The next connections to Redis and PostgreSQL use these. */
function useLinkTls({ database, realtime }: TlsUsers, { redis, store }: TlsFiles): void {
  database.useTls(store);
  realtime.postToAll({ type: 'redis-tls', tls: redis });
}

async function useCertificate(users: TlsUsers, certificate: Certificate): Promise<void> {
  users.monitor.setCertificate(certificate);
  await replacePushCertificate(users, certificate);
}

export interface ReloadParts extends TlsUsers, Pick<Services, 'tenants'> {
  readonly renewal: TlsRenewal;
}

/** Makes the function that applies a reloaded configuration. The main thread has replaced the certificate of its listener. */
export function reloaderOf(parts: ReloadParts): Background['reload'] {
  const { tenants, push, certificates, renewal } = parts;
  return async (changed, tlsFiles) => {
    const { listeners } = tlsFiles;
    renewal.reloaded(changed, tlsFiles);
    useLinkTls(parts, tlsFiles);
    const applied = [tenants.apps.reconfigure(changed), tenants.instances.reconfigure(changed)];
    push.reconfigure(changed);
    certificates.reloaded(listeners);
    if (listeners !== undefined) applied.push(useCertificate(parts, listeners));
    await Promise.all(applied);
    await allLoopsServeApps(parts);
  };
}
