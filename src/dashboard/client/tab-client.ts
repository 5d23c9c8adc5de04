import { channelsAddress } from '../api/server-facts.ts';

export type TabState = 'connecting' | 'connected' | 'failed';

export interface TabEvent {
  readonly channel: string;
  readonly event: string;
  readonly data: string;
  readonly atMs: number;
}

/** A client of Channels in this tab, just large enough to see an event arrive. */
export interface TabClient {
  readonly close: () => void;
}

const CONNECT_MAX_MS = 8000;

/** Connects this tab to an app and subscribes to a public channel. Source: Channels protocol, version 7. */
export function connectTab(
  { key, channel }: { readonly key: string; readonly channel: string },
  listener: {
    readonly subscribed: (socketId: string) => void;
    readonly onEvent: (event: TabEvent) => void;
    readonly failed: (why: string) => void;
  },
): TabClient {
  const { address, url } = endpointOf(key);
  let isClosed = false;
  let socketId = '';
  const close = () => {
    isClosed = true;
    clearTimeout(timeout);
    socket.close();
  };
  const fail = (why: string) => {
    if (isClosed) return;
    close();
    listener.failed(why);
  };
  const timeout = setTimeout(
    () => fail(`No answer from ${address}. Is this port open between you and the server?`),
    CONNECT_MAX_MS,
  );
  const socket = new WebSocket(url);
  socket.addEventListener('error', () =>
    fail(
      `This browser cannot connect to ${address}. A firewall, a proxy or TLS may be in the way.`,
    ),
  );
  socket.addEventListener('close', ({ code, reason }) =>
    fail(`The server closed the connection: ${code} ${reason}`),
  );
  socket.addEventListener('message', ({ data: text }) => {
    const { event, channel: subscribedTo, data } = frameOf(String(text));
    switch (event) {
      case 'pusher:connection_established':
        clearTimeout(timeout);
        socketId = (JSON.parse(data) as { socket_id: string }).socket_id;
        socket.send(JSON.stringify({ event: 'pusher:subscribe', data: { channel } }));
        break;
      case 'pusher:ping':
        socket.send('{"event":"pusher:pong","data":{}}');
        break;
      case 'pusher_internal:subscription_succeeded':
        listener.subscribed(socketId);
        break;
      case 'pusher:error':
        fail((JSON.parse(data) as { message?: string }).message ?? data);
        break;
      default:
        if (event.startsWith('pusher')) break;
        listener.onEvent({ channel: subscribedTo, event, data, atMs: Date.now() });
    }
  });
  return { close };
}

/** Where Channels listens, and the URL of a connection there. */
function endpointOf(key: string): { readonly address: string; readonly url: string } {
  const { host, port, tls, pathPrefix } = channelsAddress();
  const address = `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`;
  const path = `${pathPrefix}/app/${encodeURIComponent(key)}`;
  const query = 'protocol=7&client=fanfare-dashboard&version=1';
  return { address, url: `${tls ? 'wss' : 'ws'}://${address}${path}?${query}` };
}

/** Reads a frame of the server. */
function frameOf(text: string): Omit<TabEvent, 'atMs'> {
  const {
    event,
    channel = '',
    data,
  } = JSON.parse(text) as {
    readonly event: string;
    readonly channel?: string;
    readonly data?: unknown;
  };
  return { event, channel, data: typeof data === 'string' ? data : JSON.stringify(data ?? {}) };
}
