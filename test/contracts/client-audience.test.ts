import { expect, it, mock, spyOn } from 'bun:test';
import type { Server } from 'bun';
import { topicOf } from '../../src/channels/event.ts';
import { TableMeter } from '../../src/observability/meter.ts';
import { NO_PLACE } from '../../src/runtime/shared-memory/socket-marks.ts';
import { monotonicTimers } from '../../src/runtime/system-timers.ts';
import { ClientAudience } from '../../src/transports/clients/audience.ts';
import { FakeConnection } from '../../src/transports/clients/connection.fixture.ts';
import { ClientConnections } from '../../src/transports/clients/connections.ts';
import { SlowConsumers } from '../../src/transports/clients/frames/slow-consumers.ts';
import { ClosingBytes } from '../../src/transports/websocket/closing-bytes.ts';
import { idleCoalescer } from '../../src/transports/websocket/coalescing/coalescer.fixture.ts';
import { Coalescer } from '../../src/transports/websocket/coalescing/coalescer.ts';
import { CompressionBudget } from '../../src/transports/websocket/compression-budget.ts';
import {
  isAdmitted,
  type Socket,
  type SocketData,
  WebSocketConnection,
} from '../../src/transports/websocket/websocket-connection.ts';
import { WebSocketTopics } from '../../src/transports/websocket/websocket-topics.ts';
import { audienceContract, type Listener, type OpenAudience } from './audience.contract.ts';
import { appWith, channel } from './values.ts';

const slowConsumersOf = (connections: ClientConnections) =>
  new SlowConsumers({
    connections,
    bytesMax: 1024 * 1024,
    totalBytesMax: 1024 * 1024 * 1024,
    end: () => undefined,
  });

const app = appWith({});

const noCompression = () =>
  new CompressionBudget({
    meter: { count: () => undefined },
    now: () => 0,
    afterTurn: () => undefined,
  });

/** Holds the next event that may wait until something must follow it: its clock stands still. */
function busyCoalescer(): Coalescer {
  const coalescer = new Coalescer({
    now: () => 0,
    busyShare: () => 1,
    after: () => undefined,
    afterTurn: (run) => run(),
  });
  // An event only waits soon after another.
  coalescer.publishBatched({ topic: 'before', frame: '', receivers: 1, run: () => undefined });
  return coalescer;
}

type Kind = 'websocket' | 'queue';

interface OpenOptions {
  /** Whether events that may wait do wait. */
  readonly isBusy?: boolean;
  /** What the connections are, in turn. */
  readonly kinds?: readonly Kind[];
}

/** A real listener without the protocol: frames are sent as they are. */
async function open({
  isBusy = false,
  kinds = ['websocket'],
}: OpenOptions = {}): Promise<OpenAudience> {
  const coalescer = isBusy ? busyCoalescer() : idleCoalescer();
  const connections = new ClientConnections();
  const slowConsumers = slowConsumersOf(connections);
  const native = new WebSocketTopics(slowConsumers, coalescer, noCompression());
  const meter = new TableMeter();
  const audience = new ClientAudience({ native, connections, slowConsumers, meter });
  const opened: Socket[] = [];
  const server = Bun.serve<SocketData>({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, listening) {
      const data = new WebSocketConnection({
        app,
        firstHalf: connections.newFirstHalf(),
        address: 0,
        server: listening,
        loop: { coalescer, closing: new ClosingBytes(1_000_000, monotonicTimers) },
        place: NO_PLACE,
      });
      return listening.upgrade(request, { data }) ? undefined : new Response(null, { status: 400 });
    },
    websocket: {
      open(socket) {
        if (!isAdmitted(socket)) throw new Error('Refused');
        socket.data.socket = socket;
        opened.push(socket);
      },
      // Echoed behind everything that was sent before.
      message(socket, text) {
        if (isAdmitted(socket)) socket.data.send(String(text));
      },
    },
  });
  native.serve([server]);
  let count = 0;
  return {
    audience,
    async connect() {
      const kind = kinds[count++ % kinds.length];
      if (kind === 'queue') return queueListener(connections);
      const client = new WebSocket(`ws://127.0.0.1:${server.port}/`);
      await new Promise((resolve) => client.addEventListener('open', resolve));
      const socket = opened.at(-1);
      if (socket === undefined) throw new Error('Not opened');
      connections.add(socket.data);
      return webSocketListener(client, socket.data);
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

function webSocketListener(client: WebSocket, peer: WebSocketConnection): Listener {
  const received: string[] = [];
  const END = 'that was all';
  let ended: (() => void) | undefined;
  client.addEventListener('message', ({ data }) => {
    if (data === END) ended?.();
    else received.push(data);
  });
  return {
    peer,
    async received() {
      const { promise, resolve } = Promise.withResolvers<void>();
      ended = resolve;
      client.send(END);
      await promise;
      return received.splice(0);
    },
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

/** A peer without a socket, as a fallback over HTTP would be: its frames go to a queue. */
function queueListener(connections: ClientConnections): Listener {
  const peer = new FakeConnection({ id: `${connections.newFirstHalf()}.7` });
  connections.add(peer);
  return {
    peer,
    received: async () => peer.sent.splice(0),
    [Symbol.asyncDispose]: async () => connections.remove(peer),
  };
}

audienceContract('ClientAudience of WebSockets, on an idle loop,', () => open());
audienceContract('ClientAudience of WebSockets, on a busy loop,', () => open({ isBusy: true }));
audienceContract('ClientAudience of queues', () => open({ kinds: ['queue'] }));
audienceContract('ClientAudience of WebSockets and queues', () =>
  open({ kinds: ['websocket', 'queue'], isBusy: true }),
);
audienceContract('ClientAudience of queues and WebSockets', () =>
  open({ kinds: ['queue', 'websocket'] }),
);

/** An audience of servers that have three subscribers each. */
function audienceOn(servers: number, coalescer: Coalescer): ClientAudience {
  const connections = new ClientConnections();
  const slowConsumers = slowConsumersOf(connections);
  const native = new WebSocketTopics(slowConsumers, coalescer, noCompression());
  // Bun's class cannot be constructed.
  const server = {
    subscriberCount: () => 3,
    publish: () => 0,
  } as unknown as Server<SocketData>;
  native.serve(Array.from({ length: servers }, () => server));
  return new ClientAudience({ native, connections, slowConsumers, meter: new TableMeter() });
}

it.each([
  [false, 'publish', 'publishBatched'],
  [true, 'publishBatched', 'publish'],
] as const)('lets an event wait only if it may: %s', (mayWait, publish, other) => {
  const coalescer = idleCoalescer();
  const published = spyOn(coalescer, publish);
  const notPublished = spyOn(coalescer, other);
  audienceOn(1, coalescer).send(topicOf(app, channel('news')), () => 'frame', { mayWait });
  expect(published.mock.calls).toMatchObject([[{ frame: 'frame', receivers: 3 }]]);
  expect(notPublished.mock.calls).toEqual([]);
});

it('makes a frame once for the subscribers of several servers', () => {
  const makeFrame = mock(() => 'frame');
  const audience = audienceOn(2, idleCoalescer());
  expect(audience.send(topicOf(app, channel('news')), makeFrame, { mayWait: true })).toBe(6);
  expect(makeFrame).toHaveBeenCalledTimes(1);
});

it('sends what waited for the others of a connection that has ended meanwhile', async () => {
  await using opened = await open({ isBusy: true });
  await using ann = await opened.connect();
  await using bob = await opened.connect();
  const topic = topicOf(app, channel('news'));
  for (const { peer } of [ann, bob]) opened.audience.join(peer, topic);
  const options = { mayWait: true, except: ann.peer.socketId };
  expect(opened.audience.send(topic, () => 'of ann', options)).toBe(1);
  if (ann.peer instanceof WebSocketConnection) ann.peer.terminate();
  expect(await bob.received()).toEqual(['of ann']);
});
