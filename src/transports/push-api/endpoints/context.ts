import type { Pause } from '../../../push/delivering/ports.ts';
import type { DeviceStore } from '../../../push/device-store.ts';
import type { InstanceDirectory } from '../../../push/model/instance.ts';
import type { PublishStore } from '../../../push/publish-store.ts';
import type { StoryStore } from '../../../push/story-store.ts';
import type { PushWebhookSink } from '../../../push/webhooks/sink.ts';
import type { LogThrottle } from '../../../runtime/log-throttle.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { RateLimitedLog } from '../../../runtime/rate-limited-log.ts';
import type { BackendRates } from './backend/backend-rates.ts';
import type { AddressLimits, DeviceRates } from './device/device-rates.ts';
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
  readonly addressLimits: AddressLimits;
}

/** Tells what is known of one device and one publish. */
export type DeviceStories = Pick<StoryStore, 'story'>;

/** What the endpoints work with. */
export interface EndpointContext {
  readonly instances: InstanceDirectory;
  readonly devices: DeviceStore;
  readonly publishes: PublishStore;
  readonly stories: DeviceStories;
  /** The ways to devices, of all instances, that this server does not use now. */
  readonly pauses: () => readonly Pause[];
  /** Hears what devices report. */
  readonly webhooks: Pick<PushWebhookSink, 'reported'>;
  readonly guard: StoreGuard;
  /** A publish was accepted: there is something to deliver. */
  readonly accepted?: () => void;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
  /** For what backends can cause as often as they like. */
  readonly strangerLog: RateLimitedLog;
  /** Keeps what strangers cause from filling the log. */
  readonly refusals: LogThrottle;
  readonly rates: DeviceRates;
  readonly backendRates: BackendRates;
  readonly settings: PushEndpointSettings;
}
