import { expect, it } from 'bun:test';
import type { Outcome, TroubleScope } from '../push/gateway.ts';
import { tryAgain, unansweredOutcome } from './outcomes.ts';

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
  expect(unansweredOutcome(why)).toEqual(tryAgain(why, undefined, scope));
});

it('a request that is too large is refused', () => {
  const refused: Outcome = { result: 'refused', reason: 'too-large', words: '' };
  expect(unansweredOutcome('too-large')).toEqual(refused);
});
