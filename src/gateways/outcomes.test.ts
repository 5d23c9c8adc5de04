import { expect, it } from 'bun:test';
import type { Outcome, TroubleScope } from '../push/gateway.ts';
import {
  notAuthorised,
  refused,
  refusedForAll,
  tokenGone,
  tryAgain,
  unansweredOutcome,
} from './outcomes.ts';

const cases: readonly (readonly [why: string, scope: TroubleScope])[] = [
  ['no-answer', 'device'],
  ['reset', 'device'],
  ['connection-lost', 'device'],
  ['anything-else', 'device'],
  ['silence', 'gateway'],
  ['turned-away', 'gateway'],
  ['unreachable', 'connection'],
];

it.each(cases)('a request that fails with %s is tried again, and concerns the %s', (why, scope) => {
  expect(unansweredOutcome(why)).toEqual({
    result: 'try-again',
    reason: why,
    afterMs: undefined,
    scope,
  });
});

it('a request that is too large is refused', () => {
  expect(unansweredOutcome('too-large')).toEqual(refused('too-large'));
});

it('outcomes have the form that the push core reads', () => {
  const outcomes: readonly Outcome[] = [
    tryAgain('busy', 'device', 5),
    tokenGone('gone', 7),
    refused('wrong'),
    refusedForAll('wrong', 'Too long'),
    notAuthorised('key', 'Unknown key'),
  ];
  expect(outcomes).toEqual([
    { result: 'try-again', reason: 'busy', scope: 'device', afterMs: 5 },
    { result: 'token-gone', reason: 'gone', sinceMs: 7 },
    { result: 'refused', reason: 'wrong', words: '' },
    { result: 'refused', reason: 'wrong', words: 'Too long', scope: 'publish' },
    { result: 'not-authorised', reason: 'key', words: 'Unknown key' },
  ]);
});
