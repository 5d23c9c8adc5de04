import { expect, it } from 'bun:test';
import { answer } from '../answer.fixture.ts';
import type { HttpAnswer } from '../client/http-exchange.ts';
import {
  describeAnswer,
  explainGateway,
  explainHandshake,
  explainSilence,
} from './explain-answer.ts';

const ENDPOINT = {
  tls: false,
  host: 'example.com',
  hostname: 'example.com',
  port: 80,
  prefix: '/ws',
};

it('describes an answer by its status, its sender and its text', () => {
  expect(describeAnswer(answer(204))).toBe('204');
  expect(describeAnswer(answer(400, 'No\n  such app'))).toBe('400, "No such app"');
  const page = answer(502, '<!DOCTYPE html><title>Bad Gateway</title>', { server: 'nginx/1.29' });
  expect(describeAnswer(page)).toBe('502 from nginx/1.29, a web page "Bad Gateway"');
  expect(describeAnswer(answer(200, 'x'.repeat(500))).length).toBeLessThan(170);
});

it.each<[HttpAnswer, string | undefined]>([
  [answer(401, '', { 'www-authenticate': 'Basic realm="Fanfare"' }), "Fanfare's admin listener"],
  [answer(404, '{"description":"There is no such path"}'), "Fanfare's push listener"],
  [answer(401, '', { 'www-authenticate': 'Basic realm="Staff"' }), 'asks for a password'],
  [answer(407), 'asks for a password'],
  [answer(502), 'a proxy answers instead'],
  [answer(526), 'a proxy answers instead'],
  [answer(301, '', { location: 'https://a.example/' }), 'redirected to https'],
  [answer(301, '', { location: 'http://a.example/' }), 'redirected (301 to http://a.example/)'],
  [answer(304), undefined],
  [answer(500, 'Failed'), undefined],
])('finds out whether something before the server has answered', (given, detail) => {
  const finding = explainGateway(given);
  if (detail === undefined) expect(finding).toBeUndefined();
  else expect(finding?.detail).toContain(detail);
});

it.each<[HttpAnswer, string]>([
  [answer(503), 'a proxy answers instead'],
  [answer(426, 'Upgrade Required'), 'headers Upgrade and Connection are lost'],
  [answer(400, 'The plain HTTP request was sent to HTTPS port'), 'this port expects TLS'],
  [answer(404), 'there is no /ws/app/KEY at example.com'],
  [answer(400), 'finds the WebSocket handshake faulty'],
  [answer(401), 'is forbidden'],
  [answer(403), 'is forbidden'],
  [answer(429), 'too many connections'],
  [answer(200, 'Welcome'), 'something else answers at example.com/ws/app/KEY'],
  [answer(500), 'the WebSocket is refused: 500'],
])('explains a handshake that is not answered with 101', (given, detail) => {
  const finding = explainHandshake(given, ENDPOINT, false);
  expect(finding).toMatchObject({ result: 'failed', detail: expect.stringContaining(detail) });
});

it('explains a handshake whose headers are known to be lost by that, whatever the status', () => {
  expect(explainHandshake(answer(200), ENDPOINT, true).detail).toContain('are lost');
});

it('explains why there was no answer, and suspects TLS only without it', () => {
  const nothing = (silence: 'timeout' | 'closed' | 'reset', tls = false) =>
    explainSilence({ kind: 'nothing', silence }, { ...ENDPOINT, tls }, 2_500);
  expect(nothing('timeout').detail).toContain('says nothing for 2.5 s');
  expect(nothing('closed').detail).toContain('closes the connection');
  expect(nothing('reset').detail).toContain('resets the connection');
  expect(nothing('reset')).toHaveProperty('advice', expect.stringContaining('https://'));
  expect(nothing('reset', true)).toHaveProperty('advice', expect.not.stringContaining('https://'));
  const ssh = explainSilence({ kind: 'not-http', start: 'SSH-2.0-x\r\n' }, ENDPOINT, 1);
  expect(ssh.detail).toContain('does not speak HTTP; it says "SSH-2.0-x"');
});
