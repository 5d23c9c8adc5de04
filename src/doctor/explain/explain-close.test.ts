import { expect, it } from 'bun:test';
import { explainCode } from './explain-close.ts';

it('says of 4200 that events may have been missed, which a server also sends without being stopped', () => {
  const host = 'ws.example.com';
  const endpoint = { host, hostname: host, port: 443, tls: true, prefix: '' };
  expect(
    explainCode(4200, 'Events may have been missed, please reconnect', endpoint),
  ).toMatchObject({
    advice: expect.stringMatching(/stopped or restarted, or .*missed events/),
  });
});
