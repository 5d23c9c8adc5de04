import { expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { benchAppAt } from '../bench-app.ts';
import { KernelSockets } from '../load/kernel-sockets.ts';
import { BenchClient, type ClientOwner } from './client.ts';
import { publicSubscriptions } from './subscriptions.ts';

const established = JSON.stringify({
  event: 'pusher:connection_established',
  data: '{"socket_id":"1.2"}',
});
const succeeded = (channel: string) =>
  JSON.stringify({ event: 'pusher_internal:subscription_succeeded', channel, data: '{}' });

/** Connects a client of two channels to a server with these answers to its messages; returns what was reported. */
async function visit(
  answer: (channel: string) => string,
  after: (client: BenchClient) => void,
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
  const owner: ClientOwner = {
    subscribed(client) {
      reported.push('subscribed');
      after(client);
    },
    left: () => end('left'),
    lost: (_visitor, why) => end(`lost: ${why}`),
  };
  const app = benchAppAt(server.port ?? 0);
  const sockets = new KernelSockets();
  new BenchClient({ app, sockets, owner }, publicSubscriptions(['first', 'second']));
  while (!isOver || closeCodes.length === 0) {
    sockets.poll(0);
    await nextTurn();
  }
  return { reported, closeCodes };
}

it('reports once when all subscriptions are confirmed, and leaves with a close frame', async () => {
  const { reported, closeCodes } = await visit(succeeded, (client) => client.leave());

  expect(reported).toEqual(['subscribed', 'left']);
  expect(closeCodes).toEqual([1000]);
});

it('is lost when a subscription is refused, and reports what the server answered', async () => {
  const error = JSON.stringify({ event: 'pusher:error', data: { code: 4009, message: 'no' } });
  const { reported } = await visit(
    () => error,
    () => expect.unreachable(),
  );

  expect(reported).toEqual([`lost: ${error}`]);
});
