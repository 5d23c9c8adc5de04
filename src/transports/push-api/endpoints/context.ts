import type { Log } from '../../../channels/ports.ts';
import type { InstanceDirectory } from '../../../push/instance.ts';
import type { DeviceStore, PublishStore } from '../../../push/ports.ts';
import type { StoreGuard } from './store-guard.ts';

/** What operators may change of this API. It is read at each request. */
export interface PushEndpointSettings {
  /** How far the clock of a backend that makes Beams Tokens may be off. */
  readonly tokenLeewaySeconds: number;
  /** Hosts that the issuer of a Beams Token may be at, beside the hosted service's and that of `publicUrl`. */
  readonly tokenIssuers: readonly string[];
  /** The origin by which browsers reach this listener; `null`: the one that they ask for. */
  readonly publicUrl: string | null;
  /** Whether the listener itself speaks TLS. */
  readonly tls: boolean;
}

/** What the endpoints work with. */
export interface EndpointContext {
  readonly instances: InstanceDirectory;
  readonly devices: DeviceStore;
  readonly publishes: PublishStore;
  readonly guard: StoreGuard;
  readonly now: () => number;
  readonly log: Pick<Log, 'info'>;
  readonly settings: PushEndpointSettings;
}
