import { expect, it } from 'bun:test';
import { isFallbackPath, numberOf, readSessionPath } from './session-path.ts';

/** Source: HTTP transports, §2. */

it.each([
  ['/pusher/app/3c1f/606/j2fna66h/xhr_streaming', 'stream'],
  ['/pusher/app/3c1f/606/j2fna66h/xhr', 'poll'],
  ['/pusher/app/3c1f/606/j2fna66h/xhr_send', 'send'],
  ['/app/3c1f/606/j2fna66h/xhr', 'poll'],
] as const)('reads %s', (path, purpose) => {
  expect(readSessionPath(path)).toEqual({ session: '3c1f/606/j2fna66h', key: '3c1f', purpose });
  expect(isFallbackPath(path)).toBe(true);
});

it('reads a path without a key, so that its client can be notified', () => {
  expect(readSessionPath('/pusher/app//469/abcdefgh/xhr')?.key).toBe('');
});

it.each([
  '/pusher/app/k/1/s',
  '/pusher/app/k/1/s/xdr_streaming',
  '/pusher/app/k/1/s/xhr/',
  '/pusher/app/k/1.2/s/xhr',
  '/pusher/app/k/1/s.t/xhr',
  '/pusher/app/k//s/xhr',
  `/pusher/app/k/1/${'s'.repeat(65)}/xhr`,
  '/pusher/info',
])('finds no session at %s', (path) => {
  expect(readSessionPath(path)).toBeUndefined();
  expect(isFallbackPath(path)).toBe(true);
});

it.each(['/app/k', '/apps/1/events', '/pusherapp/k/1/s/xhr', '/app/k/1/s/websocket'])(
  'leaves %s to others',
  (path) => expect(isFallbackPath(path)).toBe(false),
);

it.each([
  ['t=1&n=5', 5],
  ['n=5', 5],
  ['protocol=7&n=012', 12],
  ['n=-1', undefined],
  ['n=', undefined],
  ['mn=5', undefined],
  ['n=1234567890123456', undefined],
])('reads the number of %s', (query, number) => {
  expect(numberOf(query)).toBe(number);
});
