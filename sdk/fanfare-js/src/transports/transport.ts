import { version } from '../../package.json';
import { PUSHER_JS_VERSION } from '../connection/protocol.ts';
import type { Runtime } from '../runtime.ts';
import { HTTPSocket } from './http-socket.ts';
import TransportConnection, { type Socket, type Transport } from './transport-connection.ts';

const transportBy = (
  isSupported: () => boolean,
  scheme: 'http' | 'ws',
  open: (url: string) => Socket,
): Transport => ({
  isSupported,
  createConnection(name, priority, key, options) {
    const { useTLS, hostTLS, hostNonTLS, httpPath } = options;
    const host = useTLS ? `s://${hostTLS}` : `://${hostNonTLS}`;
    const flash = scheme === 'ws' ? '&flash=false' : '';
    // The last parameter asks what the server can do beyond the protocol.
    const url = `${scheme}${host}${httpPath}/app/${key}?protocol=7&client=js&version=${PUSHER_JS_VERSION}${flash}&fanfare=${version}`;
    return new TransportConnection(name, priority, options, { url, open });
  },
});

export const webSocketTransport = (runtime: () => Runtime): Transport =>
  transportBy(
    () => !!runtime().getWebSocketAPI(),
    'ws',
    (url) => runtime().createWebSocket(url),
  );

/** The HTTP transports of pusher-js. Those of old browsers have names, and are never supported. */
export const httpTransports = (): Readonly<Record<string, Transport>> =>
  Object.fromEntries(
    ['xhr_streaming', 'xhr_polling', 'sockjs', 'xdr_streaming', 'xdr_polling'].map((name) => {
      const isStreaming = name === 'xhr_streaming';
      const isSupported = () =>
        isStreaming ? !!globalThis.ReadableStream : name === 'xhr_polling';
      return [name, transportBy(isSupported, 'http', (url) => new HTTPSocket(url, isStreaming))];
    }),
  );
