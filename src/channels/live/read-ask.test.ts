import { expect, it } from 'bun:test';
import { Unreadable } from '../../runtime/unreadable.ts';
import type { Ask, AskMessage } from './ask.ts';
import { readAsk, readAskMessage } from './read-ask.ts';

const others = { loop: 'b', connections: [['ann', 3]] } as const;

const messages: readonly AskMessage[] = [
  { what: 'answered', attempt: 1, userId: 'ann' },
  { what: 'asked', attempt: 1, connections: [['ann', 2]], others },
  { what: 'asked', attempt: 1, connections: [['ann', 2]], others, moreOthers: [others, others] },
  { what: 'asked', attempt: 1, connections: [] },
  {
    ...{ what: 'more', attempt: 1, origin: 'a', waitMs: 900 },
    ...{ appId: '1', channel: 'private-room', connections: [['ann', 3]] },
  },
];

it.each(messages)('reads the message that another server has written: %o', (message) => {
  expect(readAskMessage(JSON.stringify(message))).toEqual(message);
});

it.each(messages)('refuses a message with a field of another type: %o', (message) => {
  for (const field of Object.keys(message)) {
    const wrong = JSON.stringify({ ...message, [field]: { 0: -1 } });
    expect(() => readAskMessage(wrong)).toThrow(Unreadable);
  }
});

it('reads an ask, also of a release that does not say how many connections are asked at once', () => {
  const ask: Ask = { attempt: 1, origin: 'a', waitMs: 1, connectionsMax: 20, userIds: ['ann'] };
  for (const one of [ask, { ...ask, atOnce: 2, isAlone: true }]) {
    expect(readAsk(JSON.stringify(one))).toEqual(one as Ask);
  }
  expect(() => readAsk(JSON.stringify({ ...ask, atOnce: '2' }))).toThrow(Unreadable);
});
