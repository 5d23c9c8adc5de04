import { expect, it } from 'bun:test';
import { Unreadable, UnreadableMessages } from './unreadable.ts';

it('counts each message that was dropped, and logs one a minute for each origin', () => {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const lines: object[] = [];
  const counts = new Map<string, number>();
  const unreadable = new UnreadableMessages({
    clock,
    log: { warn: (message, fields) => lines.push({ message, ...fields }) },
    meter: { count: (_, by, from) => counts.set(from, (counts.get(from) ?? 0) + by) },
  });
  for (let n = 0; n < 1000; n++)
    unreadable.drop('topic', 't:3/x', new Unreadable('It has no number'));
  unreadable.drop('thread', 'realtime-1', new TypeError('a fault'));
  clock.nowMs = 60_000;
  unreadable.drop('topic', `t:${'x'.repeat(1000)}`, new Unreadable('It has no number'));

  expect(Object.fromEntries(counts)).toEqual({ topic: 1001, thread: 1 });
  expect(lines).toEqual([
    {
      message: 'Dropped a message that cannot be read',
      from: 'topic',
      stream: 't:3/x',
      why: 'It has no number',
    },
    {
      message: 'Dropped a message that could not be handled',
      from: 'thread',
      stream: 'realtime-1',
      why: 'a fault',
    },
    {
      message: 'Dropped a message that cannot be read',
      from: 'topic',
      stream: `t:${'x'.repeat(198)}`,
      why: 'It has no number',
      notLogged: 999,
    },
  ]);
});
