import type { DayUsage } from '../../channels/usage/usage.ts';
import { InstanceTaps } from '../../push/watching/push-tap.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';
import { serverName } from '../server-name.ts';
import type { BackgroundStart } from './background.ts';
import { type CertificatesPart, openCertificates } from './certificates.ts';
import type { Foundation } from './foundation.ts';
import { openPush, type PushPart } from './push/push.ts';
import { openTenants, type Tenants } from './tenants.ts';
import { openUsage, type UsagePart } from './usage/open-usage.ts';
import { openWatching, type Watching } from './watching.ts';
import { openWebhooks } from './webhooks.ts';

export interface ServicesOptions
  extends Pick<BackgroundStart, 'config' | 'memory' | 'tlsFiles'>,
    Pick<Foundation, 'database' | 'health' | 'readiness' | 'resolver' | 'proxy' | 'meter' | 'log'> {
  readonly realtime: RealtimeClient;
}

/** The tenants, and what this loop does for them. */
export interface Services extends AsyncDisposable {
  readonly tenants: Tenants;
  readonly webhooks: Webhooks;
  readonly instanceTaps: InstanceTaps;
  readonly watching: Watching;
  readonly certificates: CertificatesPart;
  readonly usage: UsagePart;
  /** Today's usage before this start. */
  readonly usageBefore: readonly DayUsage[];
  readonly push: PushPart;
}

/** Throws `StartFailed`, or what the store throws. */
export async function openServices(options: ServicesOptions): Promise<Services> {
  const { config, database, readiness } = options;
  await using parts = new AsyncDisposableStack();
  const tenants = parts.use(await openTenants(options));
  const { apps, instances } = tenants;
  const webhooks = parts.use(await openWebhooks({ ...options, tenants }));
  const instanceTaps = new InstanceTaps();
  const watching = parts.use(
    openWatching({
      ...options,
      node: serverName(config),
      isOneOfCluster: config.engine.type === 'redis',
      apps: apps.directory,
      instances: instances.directory,
      instanceTaps,
    }),
  );
  const certificates = parts.use(await openCertificates(options));
  readiness.certificateFault = () => certificates.fault();
  const usage = parts.use(openUsage(options));
  const usageBefore = await usage.today();
  // While starting, reads may wait long for another process. From here on, requests are served.
  await database.waitBriefly();
  const push = parts.use(
    await openPush({
      ...options,
      tls: certificates.tls,
      instances,
      apps,
      taps: instanceTaps,
      webhooks,
    }),
  );
  const running = parts.move();
  return {
    tenants,
    webhooks,
    instanceTaps,
    watching,
    certificates,
    usage,
    usageBefore,
    push,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
