import type { LastOutcomes, PausedRoute } from '../../push/delivering/ports.ts';
import type { Platform } from '../../push/model/device.ts';

/** What one server knows of the gateways of an instance. */
export interface GatewaysOfServer {
  /** Some of those that it has paused now. */
  readonly pauses: readonly PausedRoute[];
  /** How many more are paused, by platform. */
  readonly morePauses: Readonly<Record<Platform, number>>;
  readonly said: Readonly<Record<Platform, Readonly<LastOutcomes>>>;
}

/** A paused gateway, and the servers that have paused it. */
export type PauseOfCluster = PausedRoute & { readonly servers: readonly string[] };

/** What servers know together of the gateways of an instance. */
export interface GatewaysOfCluster extends Omit<GatewaysOfServer, 'pauses'> {
  readonly pauses: readonly PauseOfCluster[];
}
