import { expect, it } from 'bun:test';
import { answer } from '../answer.fixture.ts';
import { explainCall } from './explain-call.ts';

const ENDPOINT = {
  tls: true,
  host: 'example.com',
  hostname: 'example.com',
  port: 443,
  prefix: '/ws',
};

function explain(status: number, body = '', keyIsKnown = false) {
  return explainCall(answer(status, body), {
    endpoint: ENDPOINT,
    path: '/apps/7/events',
    keyIsKnown,
    nowMs: Date.parse('2026-06-15T12:00:00Z'),
    timeoutMs: 1_000,
  });
}

const expected = (path: string) =>
  `Invalid signature: you should have sent HmacSHA256Hex("POST\\n${path}\\nauth_key=k", your_secret_key)`;

it.each<[number, string, string]>([
  [502, '', 'a proxy answers instead'],
  [401, 'Timestamp expired: server time (2026-06-15T11:00:00Z)', '3600 s behind'],
  [401, 'Unknown auth_key', 'knows no such key for this app'],
  [401, 'body_md5 does not match', 'the body arrives changed'],
  [401, expected('/apps/7/events'), 'the server saw /apps/7/events'],
  [401, expected('/ws/apps/7/events'), 'the secret does not belong to the key'],
  [401, 'Log in first', 'the call is not authorised: 401, "Log in first"'],
  // Some servers refuse a signature with another status.
  [400, 'Invalid signature', 'the secret does not belong to the key'],
  [403, 'Disabled', 'the call is forbidden'],
  [404, '', 'there is no /ws/apps/7/events'],
  [413, '', 'the body is too large'],
  [414, '', 'the address or the headers are too large'],
  [431, '', 'the address or the headers are too large'],
  [429, '', 'too many calls'],
  [500, 'Failed', 'the call is answered with 500, "Failed"'],
])('explains a call that is answered with %i %p', (status, body, detail) => {
  expect(explain(status, body)).toMatchObject({
    result: 'failed',
    detail: expect.stringContaining(detail),
  });
});

it('knows that the app id is wrong if the key has been let in', () => {
  expect(explain(401, 'Unknown auth_key', true).detail).toBe('the key is not one of the app 7');
});
