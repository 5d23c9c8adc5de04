import { expect, it } from 'bun:test';
import { appWith } from '../../channels/hub.fixture.ts';
import { endWith } from '../clients/closing/end.ts';
import { Coalescer } from './coalescing/coalescer.ts';
import { type Socket, WebSocketConnection } from './websocket-connection.ts';

it.each([
  ['terminated', ['first', 'held', 'pusher:error', 'close']],
  ['binary-frame', ['first', 'held', 'close']],
] as const)('closes behind what was published before: %s', (problem, expected) => {
  const order: string[] = [];
  const coalescer = new Coalescer({
    now: () => 0,
    busyShare: () => 1,
    after: () => undefined,
    afterTurn: (run) => run(),
  });
  const publish = (frame: string) =>
    coalescer.publishBatched({
      topic: 'app/a',
      frame,
      receivers: 1,
      run: () => void order.push(frame),
    });
  publish('first');
  publish('held');
  expect(order).toEqual(['first']);

  // Nothing here asks for the server.
  const server = undefined as unknown as WebSocketConnection['server'];
  const connection = new WebSocketConnection({
    app: appWith(),
    firstHalf: 1,
    address: 1,
    server,
    coalescer,
  });
  // Bun's class cannot be constructed.
  connection.socket = {
    send: () => void order.push('pusher:error'),
    close: () => void order.push('close'),
  } as unknown as Socket;
  endWith(connection, problem);
  expect(order).toEqual([...expected]);
});
