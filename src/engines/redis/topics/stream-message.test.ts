import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { SocketId } from '../../../channels/socket-id.ts';
import { Unreadable } from '../../../runtime/unreadable.ts';
import {
  eventText,
  readChannelMessage,
  readNumbered,
  readRoster,
  readUserId,
  userIdText,
} from './stream-message.ts';

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom('\n', '%', 'A', '0', '2', '5'), fc.string()),
});

describe('messages of a stream', () => {
  it('carry any frame', () => {
    const except = fc.constantFrom(undefined, '1.2' as SocketId);
    const cause = fc.constantFrom(undefined, 'backend' as const, 'clients' as const);
    const trace = fc.constantFrom(undefined, 'a1b2');
    const asked = fc.record({
      attempt: fc.nat(),
      origin: fc.uuid(),
      waitMs: fc.nat(),
      connectionsMax: fc.nat(),
      userIds: fc.array(anyText),
    });
    const sent = fc.record({ except, cause, trace, ask: fc.option(asked, { nil: undefined }) });
    fc.assert(
      fc.property(anyText, sent, fc.nat({ max: 4e15 }), (text, how, number) => {
        const frame = `{${text}}`;
        const numbered = readNumbered(`${number}${eventText(frame, how)}`);
        expect(numbered.number).toBe(number);
        expect(readChannelMessage(numbered)).toEqual({ kind: 'event', frame, ...how });
      }),
    );
  });

  it('carry any user id, in one line', () => {
    fc.assert(
      fc.property(anyText, (userId) => {
        const text = userIdText(userId);
        expect(text).not.toContain('\n');
        expect(readUserId(text)).toBe(userId);
        expect(readChannelMessage(readNumbered(`7-${text}`))).toEqual({ kind: 'removed', userId });
        expect(readChannelMessage(readNumbered(`7+1.2\n${text}\n{"a":\n1}`))).toEqual({
          kind: 'added',
          newcomer: '1.2' as SocketId,
          member: { userId, userInfo: '{"a":\n1}' },
        });
      }),
    );
  });

  it.each([
    ['of a later version', '7?later'],
    ['without a number', 'e\n\n{}'],
    ['with a number after which no other would count', '9007199254740991e\n\n{}'],
    ['that were cut in their first line', '7e1.2'],
    ['that were cut in their frame', '7e\nbackend\n{"event":"x"'],
    [
      'with an ask of another type',
      `7e\n t ${Buffer.from('{"attempt":"1"}').toString('base64url')}\n{}`,
    ],
    ['with a count that is none', '7#1e9'],
    ['with a member that was cut', '7+\nann\n{"name":'],
  ])('%s cannot be read', (_, text) => {
    expect(() => readChannelMessage(readNumbered(text))).toThrow(Unreadable);
  });
});

it('reads members in the order in which they joined', () => {
  const rows = ['bob', '1790000000000002\n', 'a%0Ab', '1790000000000001\n{"n":1}'];
  expect([...readRoster(rows).values()]).toEqual([
    { userId: 'a\nb', userInfo: '{"n":1}' },
    { userId: 'bob', userInfo: undefined },
  ]);
});
