import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { SocketId } from '../../../channels/socket-id.ts';
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
      fc.property(anyText, sent, fc.maxSafeNat(), (frame, how, number) => {
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

  it('of a later version are ignored', () => {
    expect(readChannelMessage(readNumbered('7?later'))).toBeUndefined();
  });
});

it('reads members in the order in which they joined', () => {
  const rows = ['bob', '1790000000000002\n', 'a%0Ab', '1790000000000001\n{"n":1}'];
  expect([...readRoster(rows).values()]).toEqual([
    { userId: 'a\nb', userInfo: '{"n":1}' },
    { userId: 'bob', userInfo: undefined },
  ]);
});
