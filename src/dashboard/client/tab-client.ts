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
    readonly heard: (event: TabEvent) => void;
    readonly failed: (why: string) => void;
  },
): TabClient {
  const { host, port, tls, pathPrefix } = channelsAddress();
  const address = `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`;
  const url = `${tls ? 'wss' : 'ws'}://${address}${pathPrefix}/app/${encodeURIComponent(key)}`;
  let isClosed = false;
  let socketId = '';
  const fail = (why: string) => {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(timeout);
    socket.close();
    listener.failed(why);
  };
  const timeout = setTimeout(
    () => fail(`No answer from ${address}. Is this port open between you and the server?`),
    CONNECT_MAX_MS,
  );
  const socket = new WebSocket(`${url}?protocol=7&client=fanfare-dashboard&version=1`);
  socket.addEventListener('error', () =>
    fail(
      `This browser cannot connect to ${address}. A firewall, a proxy or TLS may be in the way.`,
    ),
  );
  socket.addEventListener('close', ({ code, reason }) =>
    fail(`The server closed the connection: ${code} ${reason}`),
  );
  socket.addEventListener('message', ({ data: text }) => {
    const frame = JSON.parse(String(text)) as { event: string; channel?: string; data?: unknown };
    const data = typeof frame.data === 'string' ? frame.data : JSON.stringify(frame.data ?? {});
    switch (frame.event) {
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
        if (frame.event.startsWith('pusher')) break;
        listener.heard({
          channel: frame.channel ?? '',
          event: frame.event,
          data,
          atMs: Date.now(),
        });
    }
  });
  return {
    close: () => {
      isClosed = true;
      clearTimeout(timeout);
      socket.close();
    },
  };
}
