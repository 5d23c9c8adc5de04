import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import type { BackgroundToLoop } from './messages.ts';
import { RealtimeClient } from './realtime-client.ts';

it('reports to a loop in one message which of its webhook events are over', async () => {
  const posted: unknown[] = [];
  const client = new RealtimeClient(
    [0, 1].map((loop) => (message) => posted.push([loop, message])),
    new FakeTime(),
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
  const time = new FakeTime();
  const client = new RealtimeClient(
    asked.map((numbers) => (message: BackgroundToLoop) => {
      if (message.type === 'ask') numbers.push(message.number);
    }),
    time,
  );
  return { client, asked, time };
}

describe('the questions to realtime loops', () => {
  it('are answered by each loop for itself, in any order', async () => {
    const { client, asked } = stage(3);
    const answers = client.askAll('live-figures', {});
    for (const [loop, [number = 0]] of [...asked.entries()].reverse()) {
      client.settle(loop, number, `of loop ${loop}`);
    }
    expect(await answers).toEqual(['of loop 0', 'of loop 1', 'of loop 2'] as never);
  });

  it('go to the first loop if one answer is enough', async () => {
    const { client, asked } = stage(2);
    const answer = client.ask('ping', {});
    expect(asked.map((numbers) => numbers.length)).toEqual([1, 0]);
    client.settle(0, asked[0]?.[0] ?? 0, 'pong');
    expect(await answer).toBe('pong');
  });

  it.each([
    [1, 'The realtime loop did not answer within 5000 ms'],
    [2, 'The realtime-1 loop did not answer within 5000 ms'],
  ])('fail after 5 s and name the loop: of %p loops', async (loops, message) => {
    const { client, asked, time } = stage(loops);
    const answers = client.askAll('ping', {});
    for (const [loop, [number = 0]] of asked.slice(0, -1).entries()) {
      client.settle(loop, number, 'pong');
    }
    const failed = answers.catch(String);
    await time.advance(5_000);
    expect(await failed).toBe(`Unanswered: ${message}`);
  });

  it('fail with the reason of a loop that has no answer', async () => {
    const { client, asked } = stage(1);
    const answer = client.ask('ping', {});
    client.notAnswered(asked[0]?.[0] ?? 0, 'a partition is away');
    await expect(answer).rejects.toThrow('a partition is away');
  });
});
