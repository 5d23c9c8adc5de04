import type { Config } from '../../../config/schema.ts';
import { sharesPort } from '../../../config/settings/shared-port.ts';
import { ApnsGateway } from '../../../gateways/apns/apns-gateway.ts';
import type { ShareRate } from '../../../push/rate-exchange.ts';
import type { PushTaps } from '../../../push/watching/push-tap.ts';
import { listenPort } from '../../../runtime/listen-host.ts';
import { LogThrottle } from '../../../runtime/logging/log-throttle.ts';
import type { RateLimitedLog } from '../../../runtime/logging/rate-limited-log.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { Certificate } from '../../../runtime/tls/certificate.ts';
import { TrustedProxies } from '../../../runtime/trusted-proxies.ts';
import type { Database } from '../../../stores/database/database.ts';
import { StoredChannels } from '../../../stores/push/devices/channels.ts';
import { StoredMoves } from '../../../stores/push/devices/device-moves.ts';
import { StoredDevices } from '../../../stores/push/devices/device-store.ts';
import { StoredPreferences } from '../../../stores/push/devices/preferences.ts';
import type { StoredStories } from '../../../stores/push/publishes/device-story.ts';
import type { StoredPublishes } from '../../../stores/push/publishes/publish-store.ts';
import type { LiveInstances } from '../../../tenants/live-tenants.ts';
import type { ListenerHealth } from '../../../transports/health.ts';
import { pushBounds } from '../../../transports/push-api/bounds.ts';
import type { AcceptPublish } from '../../../transports/push-api/endpoints/backend/publish.ts';
import { DeviceRates } from '../../../transports/push-api/endpoints/device/device-rates.ts';
import { createPushEndpoints } from '../../../transports/push-api/endpoints/endpoints.ts';
import { PushListener, type PushListenerContext } from '../../../transports/push-api/listener.ts';
import type { PushWebhooks } from '../../../webhooks/push-events.ts';
import { freeSocketPath } from '../../free-socket-path.ts';
import { listenError } from '../../listen-error.ts';
import { readOpenFiles } from '../../open-files.ts';
import type { BackgroundBase } from '../base.ts';
import type { StoreHealth } from '../store/store-health.ts';
import type { PushDelivery } from './delivery.ts';
import type { LivePushes } from './live-pushes.ts';

/** The settings of the API that a reloaded configuration can change. */
export type PushApiSettings = ReturnType<typeof settingsOf>;

export interface PushApiParts {
  readonly listener: PushListener;
  readonly settings: () => PushApiSettings;
  readonly database: Database;
  readonly health: StoreHealth;
  readonly storeFailed: (error: unknown) => void;
  readonly storeWorked: () => void;
  readonly instances: LiveInstances;
  readonly publishes: StoredPublishes;
  readonly stories: StoredStories;
  readonly sink: PushWebhooks;
  readonly live: LivePushes;
  readonly delivery: PushDelivery;
  readonly taps: PushTaps;
  readonly shareRate: ShareRate;
  readonly log: Log;
  readonly rateLimitedLog: RateLimitedLog;
}

/** Opens the port of the Beams APIs. Throws `StartFailed` if that fails. `checks`: for health checks on this port. */
export async function openListener(
  { config, memory, meter, log }: BackgroundBase,
  tls: Certificate | undefined,
  checks: ListenerHealth,
): Promise<PushListener> {
  const { host, pathPrefix, addressLimits } = config.push;
  const { bodyBytesPerSecond, httpIdleSeconds } = config.push;
  const { connectionsPerSecond } = addressLimits;
  const { pushConnections, pushHeldBytes } = memory.shares;
  const connections = Math.min(pushConnections, connectionRoom());
  const settings = { host, port: listenPort(config.push), tls };
  const context = {
    log,
    meter,
    proxies: TrustedProxies.ofListeners(config.trustedProxies),
    pathPrefix,
    health: config.push.healthChecks ? checks : undefined,
  } satisfies PushListenerContext;
  const bounds = {
    ...pushBounds,
    connections,
    // Where the port is shared, requests are held on their way here as well.
    heldBytes: sharesPort(config) ? Math.floor(pushHeldBytes / 2) : pushHeldBytes,
    connectionsPerSecond,
    bodyBytesPerSecond,
    idleMs: httpIdleSeconds * 1000,
  };
  if (sharesPort(config)) return PushListener.onSharedPort(settings, context, bounds);
  await freeSocketPath('push', config.push);
  try {
    return await PushListener.open(settings, context, bounds);
  } catch (error) {
    throw listenError(error, 'push', config.push);
  }
}

/** How many connections the limit of open files allows. */
function connectionRoom(): number {
  const openFiles = readOpenFiles();
  if (openFiles === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(openFiles.push));
}

export function settingsOf({ push }: Config, { address }: PushListener) {
  const { tokenLeewaySeconds, tokenIssuers, publicUrl, pathPrefix, addressLimits } = push;
  const { tls } = address;
  return { tokenLeewaySeconds, tokenIssuers, publicUrl, pathPrefix, addressLimits, tls };
}

/** Makes the listener serve the Beams APIs. Returns how to accept a publish of an operator. */
export function serveApi(parts: PushApiParts): AcceptPublish {
  const { listener, settings, health, delivery, taps, shareRate, log } = parts;
  const logThrottle = new LogThrottle({ now: Date.now });
  const limits = () => settings().addressLimits;
  const rates = new DeviceRates({ limits, now: Date.now, log, logThrottle, shareRate });
  const { endpoints, acceptPublish } = createPushEndpoints({
    instances: parts.instances.directory,
    devices: new StoredDevices(parts.database),
    channels: {
      stored: new StoredChannels(parts.database),
      at(instance) {
        const gateway = delivery.gateways.byNumber(instance)?.gateways.apns;
        return gateway instanceof ApnsGateway ? gateway.channels : undefined;
      },
    },
    preferences: new StoredPreferences(parts.database),
    moves: new StoredMoves(parts.database),
    publishes: parts.publishes,
    stories: parts.stories,
    pauses: () => delivery.figures().openCircuits,
    webhooks: parts.sink,
    taps,
    storeFault: () => health.fault(),
    storeFailed: parts.storeFailed,
    storeWorked: parts.storeWorked,
    live: parts.live,
    accepted: () => delivery.wake(),
    makeRoom: delivery.makeRoom,
    now: Date.now,
    log,
    rateLimitedLog: parts.rateLimitedLog,
    logThrottle,
    rates,
    shareRate,
    settings,
  });
  listener.serve(endpoints, (head) => rates.refuseAddress('requests', head));
  return acceptPublish;
}
