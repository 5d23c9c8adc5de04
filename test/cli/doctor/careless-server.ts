import type { BrokenServer } from './broken-servers.ts';

/** How a server of this protocol may differ from Fanfare. */
export interface Manners {
  /** The first message; by default a valid greeting. */
  readonly first?: string;
  /** The answer to a trigger. */
  readonly triggerAnswer?: string;
  readonly deaf?: boolean;
}

interface Event {
  readonly name: string;
  readonly channels: readonly string[];
  readonly data: string;
}

/** A valid greeting with changes. */
export function greeting(changed: object = {}): string {
  const data = { socket_id: '1.1', activity_timeout: 120, ...changed };
  return JSON.stringify({
    event: 'pusher:connection_established',
    data: JSON.stringify(data),
  });
}

/** A small server that checks nothing and sends each event to everyone. */
export function carelessServer(manners: Manners = {}): BrokenServer & {
  /** The events that clients have sent. */
  readonly said: readonly string[];
} {
  const said: string[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, serving) {
      if (serving.upgrade(request)) return undefined;
      if (request.method === 'GET') return Response.json({ channels: {} });
      // It has no HTTP transports, like most other servers.
      if (new URL(request.url).pathname.startsWith('/pusher/')) {
        return new Response('not found', { status: 404 });
      }
      const event = (await request.json()) as Event;
      for (const channel of event.channels ?? []) {
        const message = JSON.stringify({ event: event.name, channel, data: event.data });
        if (manners.deaf !== true) serving.publish('all', message);
      }
      return new Response(manners.triggerAnswer ?? '{}');
    },
    websocket: {
      open(socket) {
        socket.subscribe('all');
        socket.send(manners.first ?? greeting());
      },
      message(socket, text) {
        const { event, data } = JSON.parse(String(text));
        said.push(event);
        if (event === 'pusher:ping') socket.send('{"event":"pusher:pong","data":"{}"}');
        if (event !== 'pusher:subscribe') return;
        const { channel } = data;
        socket.send(
          JSON.stringify({ event: 'pusher_internal:subscription_succeeded', channel, data: '{}' }),
        );
      },
    },
  });
  return {
    port: server.port ?? 0,
    said,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}
