import { newSocketId } from '../../src/channels/socket-id.ts';
import { TableMeter } from '../../src/observability/meter.ts';
import { WebSocketAudience } from '../../src/transports/websocket/audience.ts';
import { Backlog } from '../../src/transports/websocket/backlog.ts';
import { Connection, type Socket } from '../../src/transports/websocket/connection.ts';
import { Connections } from '../../src/transports/websocket/connections.ts';
import { audienceContract, type Listener, type OpenAudience } from './audience.contract.ts';
import { appWith } from './values.ts';

const app = appWith({});

/** A real listener with nothing of the protocol on it: frames go as they are. */
async function open(): Promise<OpenAudience> {
  const connections = new Connections(new Int32Array(1));
  const audience = new WebSocketAudience(
    connections,
    new Backlog(connections, 1024 * 1024),
    new TableMeter(),
  );
  const opened: Socket[] = [];
  const server = Bun.serve<Connection>({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, listening) {
      const data = new Connection({ app }, listening, '127.0.0.1', 0);
      return listening.upgrade(request, { data }) ? undefined : new Response(null, { status: 400 });
    },
    websocket: {
      open: (socket) => void opened.push(socket),
      // Sent back behind everything that was sent before.
      message: (socket, text) => void socket.send(text),
    },
  });
  audience.serve([server]);
  return {
    audience,
    async connect() {
      const client = new WebSocket(`ws://127.0.0.1:${server.port}/`);
      await new Promise((resolve) => client.addEventListener('open', resolve));
      const socket = opened.at(-1);
      if (socket === undefined) throw new Error('Not opened');
      const socketId = newSocketId();
      connections.add(socketId, app, socket, true);
      return listener(client, socket, socketId);
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

function listener(client: WebSocket, peer: Socket, socketId: Listener['socketId']): Listener {
  const heard: string[] = [];
  const END = 'that was all';
  let ended: (() => void) | undefined;
  client.addEventListener('message', ({ data }) => {
    if (data === END) ended?.();
    else heard.push(data);
  });
  return {
    peer,
    socketId,
    async heard() {
      const { promise, resolve } = Promise.withResolvers<void>();
      ended = resolve;
      client.send(END);
      await promise;
      return heard.splice(0);
    },
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

audienceContract('WebSocketAudience', open);
