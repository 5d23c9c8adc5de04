import { expect, it } from 'bun:test';
import { PushRefusal } from '../../push/refusal.ts';
import { statuses } from './problems.ts';
import { bodyOf, headersOf, rawResponse } from './server/refusal-response.ts';

it('gives every problem a status, a title and advice', () => {
  for (const { status, title, when, advice } of Object.values(statuses)) {
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
    expect([title, when, advice]).not.toContain('');
  }
});

it('never leaves a body, an error or a description empty', () => {
  for (const description of ['`users`: users is required', '', '"\n\u2028\ud800']) {
    for (const problem of Object.keys(statuses) as (keyof typeof statuses)[]) {
      const body = bodyOf(new PushRefusal(problem, description));
      expect(body).toEndWith('}\n');
      expect(JSON.parse(body)).toEqual({
        error: statuses[problem].title,
        description: description === '' ? statuses[problem].title : description,
      });
    }
  }
});

it('sends Retry-After in whole seconds, at least 1', () => {
  const after = (seconds?: number) =>
    headersOf(new PushRefusal('rate-limited', 'x', seconds), 'publish')['retry-after'];
  expect([after(), after(0), after(0.2), after(1.5), after(60)]).toEqual([
    undefined,
    '1',
    '1',
    '2',
    '60',
  ]);
});

it('writes a raw response to a request that cannot be read', () => {
  const answer = rawResponse(new PushRefusal('timeout', 'ü'), 'device');
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  expect(head.split('\r\n')).toEqual([
    'HTTP/1.1 408 Request Timeout',
    'content-type: application/json',
    'access-control-allow-origin: *',
    'access-control-expose-headers: retry-after',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]);
  expect(body).toBe('{"error":"Request Timeout","description":"ü"}\n');
});
