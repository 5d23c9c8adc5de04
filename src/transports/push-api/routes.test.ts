import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { familyOf, findRoute, pathForLog, routes } from './routes.ts';

const ID = '0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a69';
const PUBLISH = `/publish_api/v1/instances/${ID}`;
const DEVICES = `/device_api/v1/instances/${ID}/devices`;

const NOTHING_NAMED = {
  instance: '',
  platform: undefined,
  device: '',
  name: '',
  publishId: '',
  rest: '',
};

/** The endpoint of a request, and its parameters. */
function found(method: string, path: string) {
  const route = findRoute(method, path);
  return route.found === 'endpoint' ? [route.endpoint, route.params] : route.found;
}

const named = (names: object) => ({ ...NOTHING_NAMED, instance: ID, ...names });

describe('findRoute', () => {
  it.each([
    ['POST', `${PUBLISH}/publishes/interests`, 'publishToInterests', {}],
    ['POST', `${PUBLISH}/publishes`, 'publishToInterests', {}],
    ['POST', `${PUBLISH}/publishes/users`, 'publishToUsers', {}],
    ['GET', `${PUBLISH}/publishes/pubid-1`, 'readPublish', { publishId: 'pubid-1' }],
    ['DELETE', `${PUBLISH}/publishes/pubid-1`, 'cancelPublish', { publishId: 'pubid-1' }],
    ['GET', `${PUBLISH}/publishes/pubid-1/pauses`, 'readPauses', { publishId: 'pubid-1' }],
    [
      'GET',
      `${PUBLISH}/publishes/pubid-1/devices/web-1`,
      'explainDevice',
      { publishId: 'pubid-1', device: 'web-1' },
    ],
    [
      'GET',
      `${PUBLISH}/publishes/pubid-1/devices/web`,
      'explainDevice',
      { publishId: 'pubid-1', device: 'web' },
    ],
    ['DELETE', `/customer_api/v1/instances/${ID}/users/ann`, 'deleteUser', { rest: 'ann' }],
    ['DELETE', `/user_api/v1/instances/${ID}/users/ann`, 'deleteUser', { rest: 'ann' }],
    ['GET', `/device_api/v1/instances/${ID}/web-vapid-public-key`, 'readVapidKey', {}],
    ['POST', `${DEVICES}/apns`, 'registerDevice', { platform: 'apns' }],
    ['GET', `${DEVICES}/web/web-1`, 'readDevice', { platform: 'web', device: 'web-1' }],
    ['HEAD', `${DEVICES}/web/web-1`, 'readDevice', { platform: 'web', device: 'web-1' }],
    ['DELETE', `${DEVICES}/fcm/fcm-1`, 'deleteDevice', { platform: 'fcm', device: 'fcm-1' }],
    ['PUT', `${DEVICES}/fcm/d/metadata`, 'setMetadata', { platform: 'fcm', device: 'd' }],
    ['PUT', `${DEVICES}/fcm/d/token`, 'setToken', { platform: 'fcm', device: 'd' }],
    ['PUT', `${DEVICES}/web/d/token`, 'setToken', { platform: 'web', device: 'd' }],
    ['PUT', `${DEVICES}/apns/d/user`, 'setUser', { platform: 'apns', device: 'd' }],
    ['GET', `${DEVICES}/web/d/interests`, 'readInterests', { platform: 'web', device: 'd' }],
    ['PUT', `${DEVICES}/web/d/interests`, 'setInterests', { platform: 'web', device: 'd' }],
    [
      'POST',
      `${DEVICES}/web/d/interests/a`,
      'addInterest',
      { platform: 'web', device: 'd', name: 'a' },
    ],
    [
      'DELETE',
      `${DEVICES}/web/d/interests/a`,
      'removeInterest',
      { platform: 'web', device: 'd', name: 'a' },
    ],
    ['POST', `/reporting_api/v2/instances/${ID}/events`, 'report', {}],
    ['GET', '/sdk/service-worker.js', 'readServiceWorker', { instance: '' }],
  ])('leads %s %s to %s', (method, path, endpoint, names) => {
    expect(found(method, path)).toEqual([endpoint, named(names)] as never);
  });

  it('splits a path before it decodes the segments, once', () => {
    const path = (name: string) => `${DEVICES}/web/d/interests/${name}`;
    const nameIn = (name: string) => {
      const route = findRoute('POST', path(name));
      return route.found === 'endpoint' ? route.params.name : route.found;
    };
    expect(nameIn('a;b,c@d=e')).toBe('a;b,c@d=e');
    expect(nameIn('a%3Bb%2Cc%40d%3De')).toBe('a;b,c@d=e');
    expect(nameIn('a%2Fb')).toBe('a/b');
    expect(nameIn('a%252Fb')).toBe('a%2Fb');
    expect(nameIn('%zz%ff')).toBe('%zz%ff');
    expect(nameIn('..')).toBe('..');
    expect(nameIn('a/b')).toBe('nothing');
    expect(nameIn('')).toBe('nothing');
  });

  it('takes the rest of the path as the user, including slashes', () => {
    const userIn = (rest: string) => {
      const route = findRoute('DELETE', `/user_api/v1/instances/${ID}/users/${rest}`);
      return route.found === 'endpoint' ? route.params.rest : route.found;
    };
    expect(userIn('a/b')).toBe('a/b');
    expect(userIn('a/')).toBe('a/');
    expect(userIn('/')).toBe('/');
    expect(userIn('J%C3%BCrgen%20%2B+1')).toBe('Jürgen ++1');
    expect(userIn('100%')).toBe('100%');
    expect(userIn('')).toBe('nothing');
  });

  it('recognises a wrong method, and lists the right ones', () => {
    const allowed = (method: string, path: string) => {
      const route = findRoute(method, path);
      return route.found === 'path' ? route.allow : route.found;
    };
    expect(allowed('GET', `${PUBLISH}/publishes/interests`)).toBe('POST');
    expect(allowed('OPTIONS', `${PUBLISH}/publishes/users`)).toBe('POST');
    expect(allowed('POST', `${PUBLISH}/publishes/pubid-1`)).toBe('GET, HEAD, DELETE');
    expect(allowed('PATCH', `${DEVICES}/web/d/interests`)).toBe('GET, HEAD, PUT');
    expect(allowed('constructor', `${DEVICES}/web`)).toBe('POST');
  });

  it.each([
    '/publish_api/v1/instances//publishes/interests',
    '/publish_api/v1/instances/publishes/interests',
    '/publish_api/v1/instances/publishes/users',
    '/publish_api/v1/instances/publishes',
    '/publish_api/v1/publishes/interests',
    '/publish_api/v1/publishes',
    '/publish_api/v1/instances/',
    '/publish_api/v1/instances',
    '/reporting_api/v2/instances//events',
    '/reporting_api/v2/instances/events',
    '/reporting_api/v2/events',
    '/customer_api/v1/instances//users/ann',
    '/user_api/v1/users/a/b',
    '/device_api/v1/instances//devices/web',
    '/device_api/v1/instances/web-vapid-public-key',
    '/device_api/v1/devices/web/web-1/interests/a',
  ])('recognises that the instance is missing in %s', (path) => {
    for (const method of ['GET', 'POST']) expect(findRoute(method, path).found).toBe('no-instance');
  });

  it.each([
    '',
    '/',
    '*',
    '/publish_api',
    '/publish_api/v1',
    '/publish_api/v2/instances//publishes/interests',
    '/publish_api/v1/bogus',
    `${PUBLISH}`,
    `${PUBLISH}/`,
    `${PUBLISH}/publishes/`,
    `${PUBLISH}/publishes/interests/`,
    `/${PUBLISH}/publishes/interests`,
    `${PUBLISH.toUpperCase()}/publishes/interests`,
    `/v1/pushPackages/web.com.example`,
    `/safari_api/v1/instances/${ID}/v1/pushPackages/web.com.example`,
    `${DEVICES}`,
    `${DEVICES}/`,
    `${DEVICES}/windows`,
    `${DEVICES}/web/`,
    `${DEVICES}/web//interests`,
    `${DEVICES}/apns/d/token`,
    `${DEVICES}/web/d/interests/`,
    `/customer_api/v1/instances/${ID}/users`,
    `/customer_api/v1/instances/${ID}/users/`,
    '/sdk',
    '/sdk/',
    '/sdk/service-worker.js/',
    '/constructor/v1',
  ])('finds nothing at %p', (path) => {
    for (const method of ['GET', 'POST']) expect(findRoute(method, path).found).toBe('nothing');
  });

  it('returns the family of every path, whether it exists or not', () => {
    const families = [
      'publish_api',
      'customer_api',
      'user_api',
      'device_api',
      'reporting_api',
      'sdk',
    ];
    expect(families.map((first) => familyOf(`/${first}/v9/x`))).toEqual([
      'publish',
      'customer',
      'customer',
      'device',
      'reporting',
      'sdk',
    ]);
    expect(['', '/', '/x', 'device_api', '/Device_api/'].map(familyOf)).toEqual(
      Array(5).fill('other'),
    );
    for (const [method, path] of routes) {
      expect(findRoute(method, path).family).toBe(familyOf(path));
      expect(familyOf(path)).not.toBe('other');
    }
  });

  it('finds the same each time, for any number of instances', () => {
    for (let at = 0; at < 3000; at++) {
      const instance = at % 3 === 0 ? ID : `${at}`;
      const path = `/publish_api/v1/instances/${instance}/publishes`;
      const params = { ...NOTHING_NAMED, instance };
      expect(found('POST', path)).toEqual(['publishToInterests', params]);
      expect(found('GET', path)).toBe('path');
    }
  });

  it('never throws, whatever it is given', () => {
    const steps = fc.constantFrom('', 'instances', ID, 'publishes', 'users', 'devices', 'web', '%');
    const paths = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc
        .tuple(
          fc.constantFrom('/publish_api/v1', '/device_api/v1', '/user_api/v1'),
          fc.array(fc.oneof(steps, fc.string({ unit: anyCharacter })), { maxLength: 8 }),
        )
        .map(([start, rest]) => [start, ...rest].join('/')),
    );
    fc.assert(
      fc.property(fc.constantFrom('GET', 'POST', 'x'), paths, (method, path) => {
        const route = findRoute(method, path);
        if (route.found === 'endpoint' && route.endpoint !== 'readServiceWorker') {
          expect(route.params.instance).not.toBe('');
        }
        expect(pathForLog(path).length).toBeLessThanOrEqual(300);
      }),
    );
  });
});

describe('pathForLog', () => {
  it('leaves out secrets and personal data', () => {
    expect(pathForLog(`${DEVICES}/web/web-1/interests/a`)).toBe(`${DEVICES}/web/…/interests/a`);
    expect(pathForLog(`/device_api/v1/instances//devices/web/web-1`)).not.toContain('web-1');
    expect(pathForLog(`/user_api/v1/instances/${ID}/users/ann/b`)).toBe(
      `/user_api/v1/instances/${ID}/users/…`,
    );
    expect(pathForLog(`/customer_api/v1/instances/${ID}/user-preferences/ann`)).not.toContain(
      'ann',
    );
    expect(pathForLog(`${PUBLISH}/publishes/users`)).toBe(`${PUBLISH}/publishes/users`);
    expect(pathForLog(`${PUBLISH}/publishes/pubid-1/devices/web-1`)).toBe(
      `${PUBLISH}/publishes/pubid-1/devices/…`,
    );
    expect(pathForLog(`${PUBLISH}/apns-channels/apns-1`)).toBe(`${PUBLISH}/apns-channels/…`);
    expect(pathForLog(`${PUBLISH}/devices/web-1/x`)).toBe(`${PUBLISH}/devices/…`);
  });
});
