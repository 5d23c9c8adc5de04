import { expect, it } from 'bun:test';
import { fine, found } from '../finding.fixture.ts';
import { judgeData, judgeLatency, SLOW_MS } from './delivery-checks.ts';

it('warns of an event that takes longer than a second', () => {
  expect(judgeLatency(SLOW_MS)).toMatchObject(fine('received 1000 ms after'));
  expect(judgeLatency(SLOW_MS + 1)).toMatchObject(found('warning', 'slow', 'overloaded'));
});

it.each([
  ['Grüße, 😀', 'GrÃ¼Ã\u009fe', 'from letter 2 on, "Grüße, 😀" became'],
  ['a\tb', 'a b', 'from letter 1 on'],
  ['abcdef', 'abc', 'from letter 3 on, "abcdef" became "abc"'],
  ['abc', 'abcdef', 'from letter 3 on, "abc" became "abcdef"'],
  ['x', '', 'from letter 0 on, "x" became ""'],
])('says where %p was changed to %p', (sent, arrived, detail) => {
  expect(judgeData(sent, arrived)).toMatchObject(found('failed', detail, 'rewrites'));
});

it('counts the bytes that arrive as sent, and takes only a string', () => {
  expect(judgeData('😀', '😀')).toMatchObject(fine('4 bytes'));
  expect(judgeData('{}', {})).toMatchObject(found('failed', 'something else than the string'));
});
