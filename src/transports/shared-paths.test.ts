import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { routes as channelsRoutes, findRoute } from './channels-api/routes.ts';
import { ListenerHealth } from './health.ts';
import { isFallbackPath } from './http-fallback/session-path.ts';
import { answerStatistics } from './http-fallback/statistics.ts';
import { routes as pushRoutes } from './push-api/routes.ts';
import { isPushPath } from './push-api/shared-port/push-path.ts';
import { withoutPrefix } from './request-target.ts';
import { answerSdkScript } from './sdk-scripts.ts';

/** Channels and push can share a port, which then tells their requests apart by path alone. */

const PREFIXES = ['', '/fanfare', '/app', '/apps', '/pusher', '/users', '/timeline', '/sdk', '/v1'];

/** Ids and keys that tenants could choose, as far as a segment of a path can hold them. */
const segments = fc.oneof(
  fc.constantFrom(
    ...['publish_api', 'device_api', 'customer_api', 'user_api', 'reporting_api', 'sdk', 'v1'],
    ...['app', 'apps', 'pusher', 'users', 'channels', 'events', 'instances', 'devices', 'xhr'],
    ...['service-worker.js', 'resume.js', 'healthz', 'readyz', '%2F', '..%2f', 'web', '1'],
  ),
  fc.stringMatching(/^[\w.%-]{1,20}$/),
);

/** A path of a route, with any names in it. */
function filled(route: string): fc.Arbitrary<string> {
  const parts = route
    .split('/')
    .map((part) => (part.startsWith(':') ? segments : fc.constant(part)));
  return fc.tuple(...parts).map((chosen) => chosen.join('/'));
}

/** Whether a path without the prefix of Channels is one of Channels. */
function isChannelsPath(path: string): boolean {
  const request = new Request('http://x/');
  const meter = { count: () => undefined };
  return (
    findRoute(path) !== undefined ||
    isFallbackPath(path) ||
    path.startsWith('/app/') ||
    answerSdkScript(request, path) !== undefined ||
    answerStatistics('GET', path, meter) !== undefined ||
    new ListenerHealth().answer('GET', path) !== undefined
  );
}

describe('on a port that Channels and push share', () => {
  it('no path of the HTTP API of Channels is for push, whatever the ids and the prefixes', () => {
    const paths = fc.constantFrom(...channelsRoutes.map(([, path]) => path)).chain(filled);
    const prefixes = fc.constantFrom(...PREFIXES);
    fc.assert(
      fc.property(paths, prefixes, prefixes, (path, own, ofPush) => {
        expect(isPushPath(`${own}${path}`, ofPush)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it('no path of push is for Channels, whatever the ids and the prefixes', () => {
    const paths = fc.constantFrom(...pushRoutes.map(([, path]) => path)).chain(filled);
    const prefixes = fc.constantFrom('', '/fanfare', '/apps', '/users');
    fc.assert(
      fc.property(paths, prefixes, prefixes, (path, own, ofPush) => {
        expect(isPushPath(`${ofPush}${path}`, ofPush)).toBe(true);
        expect(isPushPath(`/${path}`, ofPush)).toBe(true);
        expect(isChannelsPath(withoutPrefix(`${ofPush}${path}`, own))).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    '/app/key',
    '/pusher/app/key/123/session/xhr',
    '/timeline/v2/jsonp/1',
    '/sdk/authorize.js',
    '/sdk/resume.js',
    '/healthz',
    '/readyz',
    '/sdk/service-worker.js/x',
    '/publish_api',
    '/publish_apis/v1/instances',
    '/',
  ])('%s is not for push', (path) => {
    for (const prefix of ['', '/fanfare']) expect(isPushPath(path, prefix)).toBe(false);
  });
});
