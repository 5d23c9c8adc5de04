import { expect, it } from 'bun:test';
import { appWith } from '../../channels/hub.fixture.ts';
import { NO_PLACE } from '../../runtime/shared-memory/socket-marks.ts';
import { endWith } from '../clients/closing/end.ts';
import { Coalescer } from './coalescing/coalescer.ts';
import { type Socket, WebSocketConnection } from './websocket-connection.ts';

/** A connection whose socket, and what is published to its topic, write down what happens. */
function stage() {
  const order: string[] = [];
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
    coalescer,
    place: NO_PLACE,
  });
  // Bun's class cannot be constructed.
  connection.socket = {
    send: (frame: string) => void order.push(frame),
    close: () => void order.push('close'),
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
  return { connection, order };
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
