import { expect, it, mock, spyOn } from 'bun:test';
import type { Server } from 'bun';
import { topicOf } from '../../src/channels/event.ts';
import type { Peer } from '../../src/channels/ports.ts';
import { TableMeter } from '../../src/observability/meter.ts';
import { Connections } from '../../src/transports/clients/connections.ts';
import { SlowConsumers } from '../../src/transports/clients/slow-consumers.ts';
import { WebSocketAudience } from '../../src/transports/websocket/audience.ts';
import { holdingNothing } from '../../src/transports/websocket/coalescing/hold-back.fixture.ts';
import { HoldBack } from '../../src/transports/websocket/coalescing/hold-back.ts';
import {
  isAdmitted,
  type Socket,
  type SocketData,
  WebSocketConnection,
} from '../../src/transports/websocket/websocket-connection.ts';
import { audienceContract, type Listener, type OpenAudience } from './audience.contract.ts';
import { appWith, channel } from './values.ts';

const slowConsumersOf = (connections: Connections) =>
  new SlowConsumers({
    connections,
    bytesMax: 1024 * 1024,
    totalBytesMax: 1024 * 1024 * 1024,
    end: () => undefined,
  });

const app = appWith({});

/** One that holds the first thing that is published until something must come after it: its time stands still. */
function holdBackOfBusyLoop(): HoldBack {
  const holdBack = new HoldBack({
    now: () => 0,
    busyShare: () => 1,
    after: () => undefined,
    afterTurn: (run) => run(),
  });
  // Only what follows something waits.
  holdBack.publishSoon({ topic: 'before', frame: '', receivers: 1, run: () => undefined });
  return holdBack;
}

/** A real listener with nothing of the protocol on it: frames go as they are. */
async function open(isHolding = false): Promise<OpenAudience> {
  const holdBack = isHolding ? holdBackOfBusyLoop() : holdingNothing();
  const connections = new Connections();
  const audience = new WebSocketAudience(
    connections,
    slowConsumersOf(connections),
    holdBack,
    new TableMeter(),
  );
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
        holdBack,
      });
      return listening.upgrade(request, { data }) ? undefined : new Response(null, { status: 400 });
    },
    websocket: {
      open(socket) {
        if (!isAdmitted(socket)) throw new Error('Refused');
        socket.data.socket = socket;
        opened.push(socket);
      },
      // Sent back behind everything that was sent before.
      message(socket, text) {
        if (isAdmitted(socket)) socket.data.send(String(text));
      },
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
      connections.add(socket.data);
      return listener(client, socket.data, socket.data.socketId);
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

function listener(client: WebSocket, peer: Peer, socketId: Listener['socketId']): Listener {
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

audienceContract('WebSocketAudience, on a loop that has time,', () => open());
audienceContract('WebSocketAudience, on a busy loop,', () => open(true));

/** One that sends by servers that have three listeners each. */
function audienceOn(servers: number, holdBack: HoldBack): WebSocketAudience {
  const connections = new Connections();
  const slowConsumers = slowConsumersOf(connections);
  const audience = new WebSocketAudience(connections, slowConsumers, holdBack, new TableMeter());
  // Bun's class cannot be constructed; nothing else of it is asked.
  const server = {
    subscriberCount: () => 3,
    publish: () => 0,
  } as unknown as Server<SocketData>;
  audience.serve(Array.from({ length: servers }, () => server));
  return audience;
}

it.each([
  ['send', 'publish', 'publishSoon'],
  ['sendSoon', 'publishSoon', 'publish'],
] as const)('passes on whether it may wait: %s', (send, publish, other) => {
  const holdBack = holdingNothing();
  const published = spyOn(holdBack, publish);
  const notPublished = spyOn(holdBack, other);
  const audience = audienceOn(1, holdBack);
  const topic = topicOf(app, channel('news'));
  if (send === 'send') audience.send(topic, 'frame');
  else audience.sendSoon(topic, () => 'frame');
  expect(published.mock.calls).toMatchObject([[{ frame: 'frame', receivers: 3 }]]);
  expect(notPublished.mock.calls).toEqual([]);
});

it('makes a frame once, also where several servers have listeners', () => {
  const audience = audienceOn(2, holdingNothing());
  const makeFrame = mock(() => 'frame');
  expect(audience.sendSoon(topicOf(app, channel('news')), makeFrame)).toBe(6);
  expect(makeFrame).toHaveBeenCalledTimes(1);
});

it('sends what it held for the others of a connection that has ended meanwhile', async () => {
  await using opened = await open(true);
  await using ann = await opened.connect();
  await using bob = await opened.connect();
  const topic = topicOf(app, channel('news'));
  for (const { peer } of [ann, bob]) opened.audience.join(peer, topic);
  expect(opened.audience.sendSoon(topic, () => 'of ann', ann.socketId)).toBe(1);
  if (ann.peer instanceof WebSocketConnection) ann.peer.socket?.terminate();
  expect(await bob.heard()).toEqual(['of ann']);
});
