import type { App } from '../../../channels/app.ts';
import type { BroadcastChannels } from '../../../push/broadcast-channels.ts';
import type { ChannelStore } from '../../../push/channel-store.ts';
import type { OpenCircuit } from '../../../push/delivering/ports.ts';
import type { DeviceMoves } from '../../../push/device-moves.ts';
import type { DeviceStore } from '../../../push/device-store.ts';
import type { LivePublish } from '../../../push/live/live-stage.ts';
import type { InstanceDirectory, PushInstance } from '../../../push/model/instance.ts';
import type { PreferenceStore } from '../../../push/preference-store.ts';
import type { PublishStore } from '../../../push/publish-store.ts';
import type { ShareRate } from '../../../push/rate-exchange.ts';
import type { StoryStore } from '../../../push/story-store.ts';
import type { PushTaps } from '../../../push/watching/push-tap.ts';
import type { PushWebhookSink } from '../../../push/webhooks/sink.ts';
import type { LogThrottle } from '../../../runtime/logging/log-throttle.ts';
import type { RateLimitedLog } from '../../../runtime/logging/rate-limited-log.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { BackendRates } from './backend/backend-rates.ts';
import type { DeviceRates } from './device/device-rates.ts';
import type { StoreGuard } from './store-guard.ts';

/** Settings of this API. */
export interface PushEndpointSettings {
  /** How far the clock of the backend that issues Beams Tokens may differ from ours. */
  readonly tokenLeewaySeconds: number;
  /** Allowed hosts in the issuer of a Beams Token, besides the hosted service's and that of `publicUrl`. */
  readonly tokenIssuers: readonly string[];
  /** The public origin of this listener; `null`: from the request's Host header. */
  readonly publicUrl: string | null;
  /** The prefix of all paths under that origin. */
  readonly pathPrefix: string;
  /** Whether the listener itself speaks TLS. */
  readonly tls: boolean;
}

/** What a publish with a live part needs of the server. */
export interface LivePublishes {
  /** The app of an instance; `undefined`: it has none. */
  appOf(instance: PushInstance): App | undefined;
  /** Asks the users of an accepted publish. Never fails. */
  ask(publish: LivePublish): void;
}

/** The broadcast channels of the instances. */
export interface Channels {
  readonly stored: ChannelStore;
  /** Those of an instance at Apple; `undefined`: it has no key for Apple. */
  at(instance: number): BroadcastChannels | undefined;
}

/** What the endpoints share. */
export interface EndpointContext {
  readonly instances: InstanceDirectory;
  readonly devices: DeviceStore;
  readonly channels: Channels;
  readonly preferences: PreferenceStore;
  readonly moves: DeviceMoves;
  readonly publishes: PublishStore;
  readonly stories: Pick<StoryStore, 'story'>;
  /** The routes to devices, of all instances, that are paused now. */
  readonly pauses: () => readonly OpenCircuit[];
  /** Notified of what devices report. */
  readonly webhooks: Pick<PushWebhookSink, 'reported'>;
  /** Shows accepted requests in live streams. */
  readonly taps: PushTaps;
  readonly guard: StoreGuard;
  /** Called when a publish was accepted, so that its delivery can start. */
  readonly accepted?: () => void;
  /**
   * Makes room among the unfinished publishes of an instance. `neededBytes`: what a publish needs that has found none, which
   * should try again if the answer is `true`. `undefined`: nothing can make room.
   */
  readonly makeRoom?: (instance: number, neededBytes: number) => Promise<boolean>;
  /** Publishes whose users get an event in the app; `undefined`: no instance has an app. */
  readonly live?: LivePublishes | undefined;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
  /** For lines that backends can cause at any rate. */
  readonly rateLimitedLog: RateLimitedLog;
  /** Limits the lines about requests that are refused. */
  readonly logThrottle: LogThrottle;
  readonly rates: DeviceRates;
  readonly backendRates: BackendRates;
  readonly shareRate: ShareRate;
  /** The settings of the endpoints. They may change while the server runs, so each request reads them. */
  readonly settings: () => PushEndpointSettings;
}
