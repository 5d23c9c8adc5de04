import { describe, expect, it } from 'bun:test';
import { loadJson, problemsIn } from '../loading.fixture.ts';

const pair = { certFile: 'c.pem', keyFile: 'c.key' };
const redis = (url: string, more: object) => ({ engine: { type: 'redis', url, ...more } });
const source = (query: string) => ({
  sources: [{ url: `postgres://db/shop${query}`, app: '1' }],
});
const postgres = (query: string, tls: object = {}) => ({
  store: { url: `postgres://db/fanfare${query}`, tls },
});

describe('the settings of TLS to Redis and PostgreSQL', () => {
  it.each([
    [redis('rediss://a', { tls: { caFile: 'ca.pem', ...pair } })],
    [redis('rediss+sentinel://a/main', { sentinels: { user: 'u', password: 'p', tls: pair } })],
    [redis('redis+sentinel://a/main', { sentinels: { password: 'p' } })],
    [redis('rediss+cluster://a,b:7000', { tls: { caFile: 'ca.pem', ...pair } })],
    [source('?sslmode=verify-full&sslrootcert=ca&sslcert=c&sslkey=k')],
    [postgres('?sslmode=verify-full', { caFile: 'ca.pem', ...pair })],
    [postgres('?sslmode=require', pair)],
    [postgres('?sslmode=verify-ca&sslcert=c&sslkey=k&sslrootcert=ca')],
  ])('%j is accepted', (content) => {
    expect(problemsIn(loadJson(content))).toEqual([]);
  });

  it.each([
    [
      redis('redis://a', { tls: { caFile: 'ca.pem' } }),
      'engine.tls.caFile: is for TLS: the address of Redis must begin with rediss://, rediss+sentinel:// or rediss+cluster://',
    ],
    [
      redis('rediss://a', { tls: { certFile: 'c.pem' } }),
      'engine.tls.keyFile: required if engine.tls.certFile is set',
    ],
    [
      redis('rediss://a', { sentinels: { password: 'p' } }),
      'engine.sentinels.password: is for sentinels: the address of Redis must begin with redis+sentinel:// or rediss+sentinel://',
    ],
    [
      redis('redis+sentinel://a/main', { sentinels: { tls: { caFile: 'ca.pem' } } }),
      'engine.sentinels.tls.caFile: is for sentinels with TLS: the address of Redis must begin with rediss+sentinel://',
    ],
    [
      redis('redis+sentinel://a/main', { sentinels: { user: 'u' } }),
      'engine.sentinels.password: required if engine.sentinels.user is set',
    ],
    [
      { engine: { type: 'redis', urls: ['redis://a', 'redis+cluster://b'] } },
      'engine.urls[1]: a cluster is one address: set engine.url',
    ],
    [
      { store: { tls: { caFile: 'ca.pem' } } },
      'store.tls.caFile: is for PostgreSQL, but store.url names a file of SQLite',
    ],
    [
      postgres('?sslmode=require', { caFile: 'ca.pem' }),
      'store.url: needs ?sslmode=verify-full: with require, the authorities of store.tls.caFile (sslrootcert) would not be checked',
    ],
    [
      postgres('', pair),
      'store.url: needs ?sslmode=verify-full for the certificate of store.tls.certFile (sslcert)',
    ],
    [
      postgres('?sslmode=verify-full&sslcert=c'),
      'store.url: needs both sslcert and sslkey, or neither',
    ],
    [
      postgres('?sslmode=verify-full&sslrootcert=ca', { caFile: 'ca.pem' }),
      'store.tls.caFile: cannot be set together with sslrootcert in store.url',
    ],
    [
      source('?sslmode=require&sslrootcert=ca'),
      'sources[0].url: needs ?sslmode=verify-full: with require, the authorities of sslrootcert would not be checked',
    ],
    [
      source('?sslmode=verify-full&sslkey=k'),
      'sources[0].url: needs both sslcert and sslkey, or neither',
    ],
    [
      source('?sslcert=c&sslkey=k'),
      'sources[0].url: needs ?sslmode=verify-full for the certificate of sslcert',
    ],
  ])('%j is refused', (content, problem) => {
    expect(problemsIn(loadJson(content))).toEqual([problem]);
  });
});
