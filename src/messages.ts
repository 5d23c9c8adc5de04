import type { App } from './channels/app.ts';
import type { Config } from './config/schema.ts';

/** What the two loops say to each other. Everything is copied; nothing is shared but `connectionGauge`. */

/** Where one listener is. */
export interface ListenerAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

export type RealtimeState = 'starting' | 'listening' | 'stopping';

/** From the main thread to the worker. */
export type ToBackground =
  | {
      readonly type: 'start';
      readonly config: Config;
      readonly logFormat: 'json' | 'text';
      /** One 32-bit number: how many connections are open now. */
      readonly connectionGauge: SharedArrayBuffer;
    }
  | {
      readonly type: 'realtime';
      readonly state: RealtimeState;
      readonly listener?: ListenerAddress;
    }
  | {
      readonly type: 'finished-ports';
      readonly question: number;
      readonly ports: readonly number[];
    }
  | { readonly type: 'stop' };

/** From the worker to the main thread. */
export type ToRealtime =
  | {
      readonly type: 'ready';
      readonly apps: readonly App[];
      readonly admin: ListenerAddress;
      /** The id of the app that was made because there was none. */
      readonly createdApp: string | undefined;
    }
  | { readonly type: 'failed'; readonly fault: StartFault }
  | { readonly type: 'apps'; readonly apps: readonly App[] }
  | { readonly type: 'ask-finished-ports'; readonly question: number; readonly address: string }
  | { readonly type: 'stopped' };

/** Why a server cannot start: 1 a fault, 2 its configuration. */
export interface StartFault {
  readonly exitCode: 1 | 2;
  readonly message: string;
}

/** A server that could not start, in words for its operator. */
export class StartFailed extends Error {
  override readonly name = 'StartFailed';
  readonly exitCode: 1 | 2;

  constructor({ exitCode, message }: StartFault, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
