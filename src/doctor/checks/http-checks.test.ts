import { expect, it } from 'bun:test';
import { answer } from '../answer.fixture.ts';
import { judgeAnswer, judgeRedirect, judgeReuse } from './http-checks.ts';

it('judges a redirect by its target, and only if it names one', () => {
  const location = 'https://example.com/';
  expect(judgeRedirect(answer(301, '', { location })).detail).toContain('redirected to https (301');
  expect(judgeRedirect(answer(302, '', { location: '/login' })).detail).toContain('302 to /login');
  expect(judgeRedirect(answer(304)).result).toBe('ok');
  expect(judgeRedirect(answer(401, '', { location })).result).toBe('ok');
});

it('warns if a connection takes one request only, with the setting of the proxy', () => {
  const first = answer(401, '', { connection: 'Close', server: 'nginx' });
  const nothing = { kind: 'nothing', silence: 'closed' } as const;
  expect(judgeReuse(first, answer(401)).result).toBe('ok');
  expect(judgeReuse(first, nothing)).toMatchObject({
    result: 'warning',
    detail: expect.stringContaining('(Connection: close)'),
    advice: expect.stringContaining('keepalive_timeout'),
  });
  expect(judgeReuse(answer(401), nothing).detail).not.toContain('Connection: close');
});

it.each([
  ['ok', 'answers 401', answer(401, 'no')],
  [
    'warning',
    'a web page answers',
    answer(200, '<title>Shop</title>', { 'content-type': 'text/html' }),
  ],
  ['failed', '502', answer(502, '', { server: 'nginx' })],
])('judges the first answer of the HTTP API: %s', (result, detail, given) => {
  expect(judgeAnswer(given)).toMatchObject({ result, detail: expect.stringContaining(detail) });
});
