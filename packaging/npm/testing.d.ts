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

export interface FanfareOptions {
  /** Settings, as in the configuration file. Without ports, free ones are taken. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/**
 * Starts a server on free ports of this machine, with an app and a push instance of its own. It keeps everything in a temporary
 * folder. Rejects with the log of the server if it cannot start.
 */
export function startFanfare(options?: FanfareOptions): Promise<FanfareServer>;
