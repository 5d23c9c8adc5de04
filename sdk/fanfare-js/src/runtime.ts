import type { AuthorizationRuntime } from './authorization/authorizer.ts';
import type { DefineTransport, Strategy } from './connection/attempt.ts';
import type Emitter from './emitter.ts';
import type { Config } from './options.ts';
import type { Socket, Transport } from './transports/transport-connection.ts';

/** What the library uses of the place where it runs. Applications replace some of it. */
export interface Runtime extends AuthorizationRuntime {
  readonly Transports: Readonly<Record<string, Transport>>;
  getDefaultStrategy(
    config: Config,
    options: { readonly key: string; readonly useTLS: boolean },
    defineTransport: DefineTransport,
  ): Strategy;
  getNetwork(): Emitter;
  getProtocol(): string;
  createWebSocket(url: string): Socket;
  getWebSocketAPI(): (new (url: string) => Socket) | undefined;
  /** Assigned by applications whose requests need cookies: its `withCredentials` is read once. */
  createXHR(): { readonly withCredentials?: boolean };
}
