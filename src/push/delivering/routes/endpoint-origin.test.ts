import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { endpointOrigin } from './endpoint-origin.ts';

it('is the origin of the endpoint in a token', () => {
  const tokenOf = (endpoint: string) =>
    JSON.stringify({ endpoint, keys: { p256dh: '', auth: '' } });
  const endpoints = [
    'https://fcm.googleapis.com/fcm/send/abc:def',
    'https://updates.push.services.mozilla.com/wpush/v2/x?y=https://z/',
    'http://localhost:8090/push',
    'http://[::1]:8090/',
  ];
  for (const endpoint of endpoints) {
    expect(endpointOrigin(tokenOf(endpoint))).toBe(new URL(endpoint).origin);
  }
});

it('is empty for anything else, and never throws', () => {
  expect(endpointOrigin('')).toBe('');
  expect(endpointOrigin('{"endpoint":"nothing')).toBe('');
  expect(endpointOrigin('{"endpoint":"https://host')).toBe('');
  fc.assert(fc.property(fc.string(), (token) => typeof endpointOrigin(token) === 'string'));
});
