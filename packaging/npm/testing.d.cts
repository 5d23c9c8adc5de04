/// <reference lib="esnext.disposable" />

/** Where a listener of the server is. */
export interface Address {
  /** For example `http://127.0.0.1:41873`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
}

/** A running server. */
export interface FanfareServer {
  /** WebSocket clients, and the HTTP API of Channels. */
  readonly channels: Address;
  /** Devices, and backends that publish notifications. */
  readonly push: Address;
  /** Health, metrics, the admin API and the dashboard. */
  readonly admin: Address;
  /** The first app. Only if `config` says that there is none, it is `null`. */
  readonly app: { readonly id: string; readonly key: string; readonly secret: string };
  /** The first push instance. Only if `config` says that there is none, it is `null`. */
  readonly instance: { readonly id: string; readonly secretKey: string };
  /** Stops the server and removes what it has kept. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type Platform = 'apns' | 'fcm' | 'web';

/** Stand-ins for the gateways of Apple and Google and for the push services of browsers. */
export interface FakeGateways {
  /** The address of the interface for tests: `/received`, `/script`, `/subscriptions`, `/settings`. */
  readonly url: string;
  /** Registers a device with the first instance, as the SDKs do. */
  register(platform: Platform, options?: DeviceOptions): Promise<TestDevice>;
  /** Says how a gateway answers from now on: the body of `POST /script`. */
  script(rule: ScriptRule): Promise<void>;
}

export interface DeviceOptions {
  readonly interests?: readonly string[];
  /** Who uses the device, as after `setUserId` of the SDKs. */
  readonly userId?: string;
}

export interface TestDevice {
  readonly id: string;
  /** The token of the device, or the endpoint of the browser: `to` of its notifications. */
  readonly token: string;
  /** The next notification that arrives for this device, or that has arrived. Rejects after `timeoutMs`, 5,000 if not given. */
  nextNotification(options?: { readonly timeoutMs?: number }): Promise<Notification>;
}

/** A notification that arrived. */
export interface Notification {
  readonly gateway: Platform;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly to: string;
  /** The status of the answer; `null`: no answer. */
  readonly status: number | null;
  /** Why the gateway refused it. */
  readonly reason: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The body for APNs and FCM, and the decrypted message for browsers. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON, whose shape the publish has chosen
  readonly message: any;
}

export interface ScriptRule {
  readonly gateway: Platform;
  readonly to?: string;
  readonly times?: number;
  readonly status?: number;
  readonly error?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly act?: 'answer' | 'hang' | 'reset' | 'turn-away' | 'cut' | 'go-away';
  readonly latencyMs?: number;
}

export interface FanfareOptions {
  /** Settings, as in the configuration file. Without ports, free ones are taken. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Whether the instances deliver to stand-ins for the gateways, in place of none. */
  readonly fakeGateways?: boolean;
}

/**
 * Starts a server on free ports of this machine, with an app and a push instance of its own. It keeps everything in a temporary
 * folder. Rejects with the log of the server if it cannot start.
 */
export function startFanfare(
  options: FanfareOptions & { readonly fakeGateways: true },
): Promise<FanfareServer & { readonly gateways: FakeGateways }>;
export function startFanfare(options?: FanfareOptions): Promise<FanfareServer>;
