import { expect, it } from 'bun:test';
import { hubWith, LateEngine } from '../../channels/hub.fixture.ts';
import { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { ClientAddresses } from '../client-address.ts';
import { HoldBack } from './coalescing/hold-back.ts';
import { SlowConsumers } from './slow-consumers.ts';
import { connectionsOf, fakeSocket } from './socket.fixture.ts';
import { WebSocketTransport } from './transport.ts';

const settings = {
  pathPrefix: '',
  clientFrameBytes: 1000,
  framesPerSecond: 100,
  addressLimits: { connectionsPerSecond: 0, framesPerSecond: 0 },
  sendBufferBytes: 1000,
  authorizationTimeoutSeconds: 1,
  activityTimeoutSeconds: 120,
  pongTimeoutSeconds: 30,
};

it('ends a connection behind what was published before', () => {
  const order: string[] = [];
  const holdBack = new HoldBack({
    now: () => 0,
    busyShare: () => 1,
    after: () => undefined,
    afterTurn: (run) => run(),
  });
  const publish = (frame: string) =>
    holdBack.publishSoon({
      topic: 'app/a',
      frame,
      receivers: 1,
      run: () => void order.push(frame),
    });
  publish('first');
  publish('held');
  expect(order).toEqual(['first']);

  const { socket } = fakeSocket();
  Object.assign(socket, {
    send: () => void order.push('pusher:error'),
    close: () => void order.push('close'),
  });
  const { connections } = connectionsOf([{ socket }]);
  const apps = { byKey: () => undefined, byId: () => undefined };
  const transport = new WebSocketTransport({
    hub: hubWith(new LateEngine()),
    apps,
    connections,
    slowConsumers: new SlowConsumers({
      connections,
      bytesMax: 1000,
      totalBytesMax: 1000,
      end: () => undefined,
    }),
    holdBack,
    settings,
    addresses: new ClientAddresses({
      proxies: new TrustedProxies([]),
      log: { warn: () => undefined },
      clock: { now: () => 0 },
    }),
    monotonic: { now: () => 0 },
    meter: { count: () => undefined },
  });
  transport.end(socket, 'terminated');
  expect(order).toEqual(['first', 'held', 'pusher:error', 'close']);
});
