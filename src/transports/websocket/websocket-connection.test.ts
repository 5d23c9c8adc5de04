import { expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { appWith } from '../../channels/hub.fixture.ts';
import { NO_PLACE } from '../../runtime/shared-memory/socket-marks.ts';
import { endWith } from '../clients/closing/end.ts';
import { ClosingBytes } from './closing-bytes.ts';
import { Coalescer } from './coalescing/coalescer.ts';
import { type Socket, WebSocketConnection } from './websocket-connection.ts';

/** A connection whose socket, and what is published to its topic, write down what happens. */
function stage() {
  const order: string[] = [];
  const state = { waiting: 0 };
  const coalescer = new Coalescer({
    now: () => 0,
    busyShare: () => 1,
    after: () => undefined,
    afterTurn: (run) => run(),
  });
  // Nothing here asks for the server.
  const server = undefined as unknown as WebSocketConnection['server'];
  const app = appWith();
  const connection = new WebSocketConnection({
    app,
    firstHalf: 1,
    address: 1,
    server,
    loop: { coalescer, closing: new ClosingBytes(20_000, new FakeTime()) },
    place: NO_PLACE,
  });
  // Bun's class cannot be constructed.
  connection.socket = {
    send: (frame: string) => void order.push(frame),
    close: () => void order.push('close'),
    terminate: () => void order.push('terminate'),
    getBufferedAmount: () => state.waiting,
    cork(run: () => void) {
      order.push('[');
      run();
      order.push(']');
    },
  } as unknown as Socket;
  const publish = (frame: string) =>
    coalescer.publishBatched({
      topic: 'app/a',
      frame,
      receivers: 1,
      run: () => void order.push(frame),
    });
  publish('first');
  publish('held');
  expect(order.splice(0)).toEqual(['first']);
  return { connection, order, state };
}

it.each([
  ['terminated', ['held', expect.stringContaining('pusher:error'), 'close']],
  ['binary-frame', ['held', 'close']],
] as const)('closes behind what was published before: %s', (problem, expected) => {
  const { connection, order } = stage();
  endWith(connection, problem);
  expect(order).toEqual([...expected]);
});

it('sends several frames in one write, behind what was published before', () => {
  const { connection, order } = stage();
  connection.sendAll(['a', 'b', 'c']);
  expect(order).toEqual(['[', 'held', 'a', 'b', 'c', ']']);
});

it('is terminated if the runtime would keep too much that its client has not read', () => {
  const closed = stage();
  closed.state.waiting = 20_000;
  closed.connection.close(4009, 'x');
  expect(closed.order).toEqual(['held', 'close']);
  const terminated = stage();
  terminated.state.waiting = 20_001;
  terminated.connection.close(4009, 'x');
  expect(terminated.order).toEqual(['held', 'terminate']);
});

it('has no more fields than fit in 224 bytes, after which objects take 32 more', () => {
  expect(Object.keys(stage().connection).length).toBeLessThanOrEqual(26);
});
