import { afterEach, describe, expect, it, jest } from 'bun:test';
import type { BackgroundToLoop } from './messages.ts';
import { addFigures, RealtimeClient } from './realtime-client.ts';

afterEach(() => {
  jest.useRealTimers();
});

it('reports to a loop in one message which of its webhook events are over', async () => {
  const posted: unknown[] = [];
  const client = new RealtimeClient(
    [0, 1].map((loop) => (message) => posted.push([loop, message])),
  );
  for (const id of ['a', 'b']) client.webhookEventOver(1, id);
  await Promise.resolve();
  client.webhookEventOver(1, 'c');
  await Promise.resolve();
  const over = (...ids: readonly string[]) => [1, { type: 'webhook-events-over', ids }];
  expect(posted).toEqual([over('a', 'b'), over('c')]);
});

/** A client of as many loops, and the questions that each of them got. */
function stage(loops: number) {
  const asked = Array.from({ length: loops }, (): number[] => []);
  const client = new RealtimeClient(
    asked.map((numbers) => (message: BackgroundToLoop) => {
      if (message.type === 'ask') numbers.push(message.number);
    }),
  );
  return { client, asked };
}

describe('the questions to realtime loops', () => {
  it('are answered by each loop for itself, in any order', async () => {
    const { client, asked } = stage(3);
    const answers = client.askAll({ what: 'live-figures' });
    for (const [loop, [number = 0]] of [...asked.entries()].reverse()) {
      client.settle(number, `of loop ${loop}`);
    }
    expect(await answers).toEqual(['of loop 0', 'of loop 1', 'of loop 2'] as never);
  });

  it('go to the first loop if one answer is enough', async () => {
    const { client, asked } = stage(2);
    const answer = client.ask({ what: 'ping' });
    expect(asked.map((numbers) => numbers.length)).toEqual([1, 0]);
    client.settle(asked[0]?.[0] ?? 0, 'pong');
    expect(await answer).toBe('pong');
  });

  it.each([
    [1, 'The realtime loop did not answer within 5000 ms'],
    [2, 'The realtime-1 loop did not answer within 5000 ms'],
  ])('fail after 5 s and name the loop: of %p loops', async (loops, message) => {
    jest.useFakeTimers();
    const { client, asked } = stage(loops);
    const answers = client.askAll({ what: 'ping' });
    for (const [number = 0] of asked.slice(0, -1)) client.settle(number, 'pong');
    jest.advanceTimersByTime(5000);
    await expect(answers).rejects.toThrow(message);
  });

  it('fail with the reason of a loop that has no answer', async () => {
    const { client, asked } = stage(1);
    const answer = client.ask({ what: 'ping' });
    client.notAnswered(asked[0]?.[0] ?? 0, 'a partition is away');
    await expect(answer).rejects.toThrow('a partition is away');
  });
});

it('adds up the figures of all loops, app by app and server by server', () => {
  const activity = { appId: 'a', connections: 2, channels: 1, messages: 10, clientMessages: 3 };
  const other = { ...activity, appId: 'b' };
  const serverOf = (appId: string, connections: number) => ({
    name: 'one:6001',
    apps: [{ appId, connections }],
  });
  expect(
    addFigures([
      { apps: [activity, other], servers: [serverOf('a', 2)] },
      { apps: [{ ...activity, messages: 12 }], servers: [serverOf('a', 3)] },
      { apps: [], servers: [serverOf('b', 1), { name: 'two:6001', apps: [] }] },
    ]),
  ).toEqual({
    apps: [{ appId: 'a', connections: 4, channels: 2, messages: 22, clientMessages: 6 }, other],
    servers: [
      {
        name: 'one:6001',
        apps: [
          { appId: 'a', connections: 5 },
          { appId: 'b', connections: 1 },
        ],
      },
      { name: 'two:6001', apps: [] },
    ],
  });
});
