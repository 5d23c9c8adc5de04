import { expect, it } from 'bun:test';
import { answer } from '../answer.fixture.ts';
import { failed } from '../finding.ts';
import { judgeChannels, judgeTrigger } from './call-checks.ts';

const called = (status: number, body: string) =>
  ({ ok: true, answer: answer(status, body), sentAtMs: 0 }) as const;

it.each([
  [200, '{"channels":{}}', 'ok', 'belong together'],
  [200, '{"channels":[]}', 'warning', 'is an array'],
  [200, '{"channels":null}', 'failed', 'is not one: 200'],
  [200, '<h1>Hello</h1>', 'failed', 'is not one: 200 "<h1>Hello</h1>"'],
  [201, '{"channels":{}}', 'failed', 'is not one: 201'],
])('judges a list of channels: %i %s is %s', (status, body, result, detail) => {
  const finding = judgeChannels(called(status, body));
  expect(finding).toMatchObject({ result, detail: expect.stringContaining(detail) });
});

it.each([
  [200, '{}', 'ok'],
  [200, ' {}\n', 'ok'],
  [200, '{"event_ids":{}}', 'warning'],
  [202, '{}', 'warning'],
] as const)('judges the answer to a trigger: %i %p is %s', (status, body, result) => {
  expect(judgeTrigger(called(status, body)).result).toBe(result);
});

it('passes on why a call was refused', () => {
  const finding = failed('refused', 'Compare the secrets.');
  expect(judgeChannels({ ok: false, finding })).toBe(finding);
  expect(judgeTrigger({ ok: false, finding })).toBe(finding);
});
