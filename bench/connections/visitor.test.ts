import { expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { benchAppAt } from '../bench-app.ts';
import { KernelSockets } from '../load/kernel-sockets.ts';
import { upgradeRequest, Visitor, type Visits } from './visitor.ts';
import { publicWish } from './wishes.ts';

const established = JSON.stringify({
  event: 'pusher:connection_established',
  data: '{"socket_id":"1.2"}',
});
const succeeded = (channel: string) =>
  JSON.stringify({ event: 'pusher_internal:subscription_succeeded', channel, data: '{}' });

/** Lets a visitor of two channels come to a server that answers each message so; gives what was reported. */
async function visit(
  answer: (channel: string) => string,
  after: (visitor: Visitor) => void,
): Promise<{ reported: string[]; closeCodes: number[] }> {
  const closeCodes: number[] = [];
  using server = Bun.serve<undefined>({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, self) =>
      self.upgrade(request) ? undefined : new Response('', { status: 400 }),
    websocket: {
      open: (connection) => {
        connection.send(established);
      },
      message: (connection, text) => {
        connection.send(answer(JSON.parse(String(text)).data.channel));
      },
      close: (_connection, code) => {
        closeCodes.push(code);
      },
    },
  });
  const reported: string[] = [];
  let isOver = false;
  const end = (what: string) => {
    reported.push(what);
    isOver = true;
  };
  const visits: Visits = {
    subscribed(visitor) {
      reported.push('subscribed');
      after(visitor);
    },
    left: () => end('left'),
    lost: (_visitor, why) => end(`lost: ${why}`),
  };
  const app = benchAppAt(server.port ?? 0);
  const sockets = new KernelSockets();
  new Visitor(
    { app, sockets, visits, upgrade: upgradeRequest(app) },
    publicWish(['first', 'second']),
  );
  while (!isOver || closeCodes.length === 0) {
    sockets.poll(0);
    await nextTurn();
  }
  return { reported, closeCodes };
}

it('reports once when all subscriptions are confirmed, and leaves with a close frame', async () => {
  const { reported, closeCodes } = await visit(succeeded, (visitor) => visitor.leave());

  expect(reported).toEqual(['subscribed', 'left']);
  expect(closeCodes).toEqual([1000]);
});

it('is lost when a subscription is refused, and says what the server said', async () => {
  const error = JSON.stringify({ event: 'pusher:error', data: { code: 4009, message: 'no' } });
  const { reported } = await visit(
    () => error,
    () => expect.unreachable(),
  );

  expect(reported).toEqual([`lost: ${error}`]);
});
