import { describe, expect, it } from 'bun:test';
import { checkServer, clockWarnings } from './check-server.ts';
import { RedisAway, RedisRefused, RedisUnsuitable } from './reply.ts';

/** The reply of `INFO` with these fields. */
function info(fields: Readonly<Record<string, string>>): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}:${value}`);
  return ['# Server', ...lines, ''].join('\r\n');
}

const usable = { redis_version: '7.0.15', redis_mode: 'standalone', role: 'master', loading: '0' };
const valkey = { ...usable, redis_version: '7.2.4', server_name: 'valkey' };

describe('the check of a server', () => {
  it.each([
    ['Redis 7.0', usable],
    ['Redis 8.2', { ...usable, redis_version: '8.2.1' }],
    ['Valkey 7.2', { ...valkey, valkey_version: '7.2.5' }],
    ['Valkey 8', { ...valkey, valkey_version: '8.0.0' }],
  ])('accepts %s', (_, fields) => {
    expect(checkServer(info({ ...fields, run_id: 'a1' }))).toEqual({
      process: { id: 'a1', dataId: '', formerDataId: '', ageSeconds: 0, timeMicroseconds: 0 },
      warnings: [],
    });
  });

  it.each([
    ['an old Redis', { ...usable, redis_version: '6.2.14' }, /Redis 6.2.14 is too old/],
    ['an old Valkey', { ...valkey, valkey_version: '7.1.0' }, /Valkey 7.1.0 is too old/],
    ['an answer without a version', {}, /too old/],
  ])('refuses %s', (_, fields, why) => {
    expect(() => checkServer(info(fields))).toThrow(RedisRefused);
    expect(() => checkServer(info(fields))).toThrow(why);
  });

  it.each([
    [
      'a cluster',
      { ...usable, redis_mode: 'cluster' },
      false,
      /begin the URL with redis\+cluster:/,
    ],
    ['one of Valkey', { ...valkey, server_mode: 'cluster' }, false, /redis\+cluster:/],
    ['a single server as one', usable, true, /not a cluster: begin the URL with redis:/],
  ])('refuses %s for good', (_, fields, isCluster, why) => {
    expect(() => checkServer(info(fields), { isCluster })).toThrow(RedisUnsuitable);
    expect(() => checkServer(info(fields), { isCluster })).toThrow(why);
  });

  it('accepts a server of a cluster, and reads what its data come from', () => {
    const more = { run_id: 'a1', master_replid: 'b', master_replid2: 'c', uptime_in_seconds: '7' };
    const fields = { ...usable, redis_mode: 'cluster', ...more };
    expect(checkServer(info(fields), { isCluster: true }).process).toEqual({
      id: 'a1',
      dataId: 'b',
      formerDataId: 'c',
      ageSeconds: 7,
      timeMicroseconds: 0,
    });
  });

  it('accepts a service that does not say whether it is a cluster, and nothing of its process', () => {
    const { process } = checkServer(info({ redis_version: '7.1.0' }), { isCluster: true });
    expect(process).toMatchObject({ id: '', dataId: '' });
  });

  it.each([
    ['a replica', { role: 'slave' }],
    ['a server that loads its data', { loading: '1' }],
  ])('tries %s again later', (_, fields) => {
    expect(() => checkServer(info({ ...usable, ...fields }))).toThrow(RedisAway);
  });

  it.each([
    ['allkeys-lru', '1000000', 1],
    ['volatile-ttl', '1000000', 1],
    ['noeviction', '1000000', 0],
    ['allkeys-lru', '0', 0],
  ])('warns of keys that may be evicted: %s with maxmemory %s', (policy, maxmemory, count) => {
    const fields = { ...usable, maxmemory, maxmemory_policy: policy };
    expect(checkServer(info(fields)).warnings).toHaveLength(count);
  });

  it.each([
    [0, []],
    [4_000, []],
    [61_000, ['The clock of Redis is 61 s ahead of the clock of this machine']],
    [-61_000, ['The clock of Redis is 61 s behind the clock of this machine']],
  ])('warns of a clock that differs by %d ms', (differenceMs, expected) => {
    const nowMs = 1_800_000_000_000;
    const redisTime = [String(Math.floor((nowMs + differenceMs) / 1000)), '0'];
    expect(clockWarnings(redisTime, nowMs)).toEqual(expected);
  });
});
