import { expect, it } from 'bun:test';
import { fine, found } from '../finding.fixture.ts';
import { judgeGreeting } from './client-session.ts';

const endpoint = { tls: false, hostname: 'a', port: 80, prefix: '/ws', host: 'a' };

const judge = (event: string, data: unknown) => judgeGreeting({ event, data }, endpoint, 12.4);

const greeting = (data: object) => judge('pusher:connection_established', JSON.stringify(data));

it('takes a greeting with a socket id, and says how long it took', () => {
  const { finding, established } = greeting({ socket_id: '1.2', activity_timeout: 120 });
  expect(finding).toMatchObject(fine('greeted after 12 ms as 1.2'));
  expect(established).toMatchObject({ socketId: '1.2', activityTimeoutSeconds: 120 });
});

it('warns of a greeting whose data is no string', () => {
  const { finding, established } = judge('pusher:connection_established', { socket_id: '1.2' });
  expect(finding).toMatchObject(found('warning', 'its data is an object'));
  expect(established).toBeDefined();
});

it('fails for a socket id that the libraries of backends refuse, and continues with it', () => {
  const { finding, established } = greeting({ socket_id: 'abc' });
  expect(finding).toMatchObject(found('failed', 'the socket id "abc"', 'refuse to sign'));
  expect(established).toBeDefined();
});

it('fails for the message of another protocol', () => {
  expect(judge('hello', undefined)).toEqual({
    finding: found('failed', '"hello"', 'Another WebSocket service'),
  });
});

it.each([
  [4000, 'only TLS', 'https'],
  [4004, 'as many connections', 'Raise'],
  [4005, 'does not know this path /ws/app/KEY', '--url'],
  [4006, 'protocol version', 'query'],
  [4007, 'protocol 7', 'Upgrade'],
  [4008, 'no protocol version', 'query'],
  [4100, 'capacity', 'Raise'],
  [4999, 'the server ends the connection', 'log'],
])('explains the refusal %d in place of a greeting', (code, detail, advice) => {
  const { finding, established } = judge('pusher:error', { code, message: 'no' });
  expect(finding.detail).toEndWith(`(${code}: "no")`);
  expect(finding).toMatchObject(found('failed', detail, advice));
  expect(established).toBeUndefined();
});
