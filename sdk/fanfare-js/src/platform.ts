import { ajax } from './authorization/ajax.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { Network } from './connection/network.ts';
import { defaultStrategy } from './connection/strategy.ts';
import type { Runtime } from './runtime.ts';
import { webSocketTransport } from './transports/transport.ts';
import type { Socket, Transport } from './transports/transport-connection.ts';

type WebSocketClass = new (url: string) => Socket;

interface Place {
  readonly WebSocket?: WebSocketClass;
  readonly XMLHttpRequest?: new () => { readonly withCredentials?: boolean };
  readonly document?: { readonly location: { readonly protocol: string } };
}

/** What entries of the package add to WebSockets. */
interface Additions {
  readonly transports?: Readonly<Record<string, Transport>>;
  readonly authorizers?: Readonly<Record<string, Authorizer>>;
  /** Calls back when the application wakes up, where no page says so. */
  readonly onWake?: (wake: () => void) => void;
  /** Where there is none of the platform. */
  readonly WebSocket?: unknown;
}

/** Makes the runtime of an entry from what its platform has. */
export function runtimeWith({
  transports,
  authorizers,
  onWake,
  WebSocket,
}: Additions = {}): Runtime {
  const place = globalThis as unknown as Place;
  let network: Network | undefined;
  let credentials: 'include' | 'same-origin' | undefined;
  const createXHR: Runtime['createXHR'] = () =>
    new (place.XMLHttpRequest as NonNullable<Place['XMLHttpRequest']>)();
  const runtime: Runtime = {
    Transports: { ws: webSocketTransport(() => runtime), ...transports },
    createXHR,
    getDefaultStrategy: defaultStrategy,
    getAuthorizers: () => ({ ajax, ...authorizers }),
    getNetwork: () => (network ??= new Network(onWake)),
    getProtocol: () => place.document?.location.protocol ?? 'http:',
    getWebSocketAPI: () => place.WebSocket ?? (WebSocket as WebSocketClass | undefined),
    createWebSocket: (url) => new (runtime.getWebSocketAPI() as WebSocketClass)(url),
    credentials: () =>
      (credentials ??=
        runtime.createXHR !== createXHR && runtime.createXHR().withCredentials
          ? 'include'
          : 'same-origin'),
  };
  return runtime;
}
