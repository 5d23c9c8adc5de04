import { expect, it } from 'bun:test';
import { newEventId, numberOf, parseEventId } from './event-id.ts';

it('are numbered, random, and read back as they are', () => {
  const ids = Array.from({ length: 2_000 }, (_, number) => newEventId(number));
  for (const [number, id] of ids.entries()) {
    expect(parseEventId(id)).toBe(id);
    expect(numberOf(id)).toBe(number);
    expect(id.length).toBeLessThanOrEqual(24);
  }
  expect(new Set(ids.map((id) => id.split('-')[1])).size).toBe(2_000);
});

it('are not read out of anything else', () => {
  for (const text of [
    '',
    '1',
    '-k3x9q2ab',
    '1-k3x9q2a',
    '1-k3x9q2abc',
    '1-K3x9q2ab',
    'x-k3x9q2ab',
  ]) {
    expect(parseEventId(text)).toBeUndefined();
  }
  for (const text of ['1-k3x9q2ab\n', ' 1-k3x9q2ab', '1234567890123456-k3x9q2ab', '-1-k3x9q2ab']) {
    expect(parseEventId(text)).toBeUndefined();
  }
});
