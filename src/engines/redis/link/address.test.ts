import { describe, expect, it } from 'bun:test';
import { parseRedisUrl, serverName } from './address.ts';

const plain = {
  sentinelName: undefined,
  isCluster: false,
  isSecure: false,
  user: undefined,
  password: undefined,
  db: 0,
};

describe('the URL of Redis', () => {
  it.each([
    ['redis://cache', { endpoints: [{ host: 'cache', port: 6379 }] }],
    ['redis://10.0.0.1:7000/3', { endpoints: [{ host: '10.0.0.1', port: 7000 }], db: 3 }],
    ['rediss://[::1]:7000/', { endpoints: [{ host: '::1', port: 7000 }], isSecure: true }],
    ['redis://:p%40ss@cache', { endpoints: [{ host: 'cache', port: 6379 }], password: 'p@ss' }],
    [
      'redis://ann:a:b@cache',
      { endpoints: [{ host: 'cache', port: 6379 }], user: 'ann', password: 'a:b' },
    ],
    [
      'redis+sentinel://ann:pw@one,two:7001/main/2',
      {
        endpoints: [
          { host: 'one', port: 26379 },
          { host: 'two', port: 7001 },
        ],
        ...{ sentinelName: 'main', user: 'ann', password: 'pw', db: 2 },
      },
    ],
    [
      'rediss+sentinel://one/my%2Fname',
      { endpoints: [{ host: 'one', port: 26379 }], sentinelName: 'my/name', isSecure: true },
    ],
    [
      'redis+cluster://ann:pw@one,two:7001',
      {
        endpoints: [
          { host: 'one', port: 6379 },
          { host: 'two', port: 7001 },
        ],
        ...{ isCluster: true, user: 'ann', password: 'pw' },
      },
    ],
    [
      'rediss+cluster://one/',
      { endpoints: [{ host: 'one', port: 6379 }], isCluster: true, isSecure: true },
    ],
  ])('is read: %s', (url, expected) => {
    expect(parseRedisUrl(url)).toEqual({ ...plain, ...expected } as never);
  });

  it.each([
    '',
    'cache',
    'http://cache',
    'redis://',
    'redis://cache:0',
    'redis://cache:99999',
    'redis://one,two',
    'redis://cache/main',
    'redis://cache/0/1',
    'redis://%zz@cache',
    'redis://cache?db=1',
    'redis+sentinel://one',
    'redis+sentinel://one,/main',
    'redis+cluster://one/0',
    'redis+cluster://one,',
    'redis+other://one',
  ])('is refused: %s', (url) => {
    expect(parseRedisUrl(url)).toBeUndefined();
  });
});

it.each([
  ['redis://ann:pw@Cache/', 'cache:6379'],
  ['rediss://:pw@10.0.0.1:7000/3', '10.0.0.1:7000/3'],
  ['redis+sentinel://ann:pw@one,two:7001/main/2', 'one:26379,two:7001/main/2'],
  ['rediss+cluster://ann:pw@One,two:7001', 'one:6379,two:7001'],
  ['http://ann:pw@cache', 'a URL that cannot be read'],
])('%s is shown without user and password', (url, name) => {
  expect(serverName(url)).toBe(name);
});
