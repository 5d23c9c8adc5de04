import { expect, it } from 'bun:test';
import { fine, found } from '../finding.fixture.ts';
import { judgeActivityTimeout } from './connection-checks.ts';

it.each([
  [undefined, 'none'],
  [0, '0'],
  [-1, '-1'],
])('a greeting with the activity_timeout %p has failed', (seconds, shown) => {
  expect(judgeActivityTimeout(seconds)).toMatchObject(found('failed', `(${shown})`, 'pusher-js'));
});

it('any other activity_timeout is in order', () => {
  expect(judgeActivityTimeout(30)).toMatchObject(fine('after 30 s of silence'));
});
