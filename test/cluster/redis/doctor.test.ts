import { expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../../src/cli/run.ts';
import { redisCheckNames as allNames, clusterCheckNames } from '../../../src/doctor/check-names.ts';
import type { CheckResult } from '../../../src/doctor/report.ts';
import { freePort } from '../../../testing/servers/free-port.ts';
import { startRedis, startSentinel } from '../../../testing/servers/redis.ts';
import { openLink } from './link.fixture.ts';

/** `fanfare doctor --redis`. */

/** Those of a server without sentinels and slots. */
const redisCheckNames = allNames.filter(
  (name) => name !== 'redis-sentinels' && name !== 'redis-slots',
);

/** Examines the Redis servers of a configuration; returns the exit code and what is not ok. */
async function examine(engine: object, password: string | null = 'the same for all') {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-doctor-'));
  const config = join(directory, 'fanfare.json');
  writeFileSync(
    config,
    JSON.stringify({ engine: { type: 'redis', ...engine }, admin: { password } }),
  );
  const printed: string[] = [];
  const said = (text: string) => void printed.push(text);
  const code = await run(['doctor', '--redis', '--json', '--timeout', '2', '--config', config], {
    print: said,
    complain: said,
  });
  rmSync(directory, { recursive: true });
  const text = printed.join('\n');
  const checks: CheckResult[] = text.startsWith('{') ? JSON.parse(text).checks : [];
  return { code, text, checks, wrong: checks.filter(({ result }) => result !== 'ok') };
}

it('examines each Redis server, and reports that nothing is wrong', async () => {
  await using one = await startRedis();
  await using two = await startRedis();
  const { code, checks, wrong } = await examine({ urls: [one.url, two.url] });
  expect(wrong).toEqual([]);
  expect(code).toBe(0);
  expect(checks.map(({ name }) => name)).toEqual([
    ...redisCheckNames,
    ...redisCheckNames,
    ...clusterCheckNames,
  ]);
  expect(checks[0]?.detail).toMatch(
    new RegExp(`^127\\.0\\.0\\.1:${one.port}: (Redis|Valkey) [\\d.]+ answers in [\\d.]+ ms$`),
  );
  expect(checks[redisCheckNames.length]?.detail).toContain(`127.0.0.1:${two.port}: `);
});

it('reports what is wrong, and never the password', async () => {
  const memory = ['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru'];
  await using redis = await startRedis([...memory, '--requirepass', 'secret']);
  const at = `127.0.0.1:${redis.port}`;
  await using link = await openLink({ url: `redis://:secret@${at}` });
  await link.server.commands.run(['SET', 'fanfare:layout', 'version 0']);
  await link.server.commands.run(['CONFIG', 'SET', 'maxclients', '3']);
  const { code, text, wrong } = await examine({ url: `redis://:secret@${at}` });
  expect(text).not.toContain('secret');
  expect(code).toBe(1);
  expect(wrong).toEqual([
    expect.objectContaining({
      name: 'redis-memory',
      result: 'warning',
      detail: expect.stringContaining('maxmemory-policy is allkeys-lru'),
    }),
    expect.objectContaining({
      name: 'redis-layout',
      result: 'failed',
      detail: expect.stringContaining('another layout (version 0)'),
    }),
    expect.objectContaining({
      name: 'redis-publish',
      result: 'failed',
      detail: expect.stringContaining('max number of clients'),
    }),
    expect.objectContaining({
      name: 'redis-connections',
      result: 'warning',
      detail: `${at}: 3 of 3 connections are open`,
    }),
  ]);
});

it('finds that each server would make a password of its own', async () => {
  await using redis = await startRedis();
  const { code, wrong } = await examine({ url: redis.url }, null);
  expect(code).toBe(0);
  expect(wrong).toEqual([
    expect.objectContaining({
      name: 'admin-password',
      result: 'warning',
      advice: expect.stringContaining('the same admin.password'),
    }),
  ]);
});

it('names the right that a user lacks', async () => {
  const rights = '~* &* +@all -subscribe -script|load'.split(' ');
  await using redis = await startRedis(['--user', 'ann', 'on', '>pw', ...rights]);
  const { wrong } = await examine({ url: `redis://ann:pw@127.0.0.1:${redis.port}` });
  expect(wrong.map(({ name, result }) => [name, result])).toEqual([
    ['redis-scripts', 'failed'],
    ['redis-publish', 'failed'],
  ]);
  for (const { detail } of wrong) expect(detail).toContain('NOPERM');
  expect(wrong.map(({ advice }) => advice)).toEqual([
    expect.stringMatching(/^ACL SETUSER NAME \+script\|load\. /),
    expect.stringMatching(/^ACL SETUSER NAME \+subscribe\. /),
  ]);
});

it.each([
  ['keys', '&* +@all ~other:*', 'redis-layout', /^ACL SETUSER NAME ~fanfare:\*\. /],
  ['channels', '~* +@all &other:*', 'redis-scripts', /&fanfare|parentheses/],
  ['a command of the scripts', '~* &* +@all -zadd', 'redis-scripts', /parentheses/],
])('names the %s that a user may not use', async (_, rights, name, advice) => {
  await using redis = await startRedis(['--user', 'ann', 'on', '>pw', ...rights.split(' ')]);
  const { wrong } = await examine({ url: `redis://ann:pw@127.0.0.1:${redis.port}` });
  expect(wrong[0]).toMatchObject({ name, result: 'failed' });
  expect(wrong[0]?.advice).toMatch(advice);
});

it.each([
  ['its replicas are missing', ['CONFIG', 'SET', 'min-replicas-to-write', '1'], /NOREPLICAS/],
  ['its memory is full', ['CONFIG', 'SET', 'maxmemory', '1'], /OOM|used/],
])('reports a server that refuses to write: %s', async (_, command, why) => {
  await using redis = await startRedis();
  await using link = await openLink({ url: redis.url });
  await link.server.commands.run(command);
  const { code, wrong } = await examine({ url: redis.url });
  expect(code).toBe(1);
  expect(wrong.map(({ name }) => name)).toContain('redis-scripts');
  for (const { result, detail } of wrong) {
    expect(result).toBe('failed');
    expect(detail).toMatch(why);
  }
});

it.each([
  ['nobody listens there', '', /ECONNREFUSED|refused/i, /Check that Redis runs/],
  ['the password is wrong', 'ann:pw@', /WRONGPASS/, /Change the setting/],
])('reports that it cannot use a server: %s', async (_, login, why, advice) => {
  await using redis = await startRedis();
  const port = login === '' ? await freePort() : redis.port;
  const { code, wrong } = await examine({ url: `redis://${login}127.0.0.1:${port}` });
  expect(code).toBe(1);
  expect(wrong).toEqual([
    expect.objectContaining({
      name: 'redis',
      result: 'failed',
      detail: expect.stringMatching(why),
    }),
  ]);
  expect(wrong[0]?.advice).toMatch(advice);
});

it('asks each sentinel, as the user of the sentinels', async () => {
  await using redis = await startRedis();
  await using one = await startSentinel(redis.port, ['requirepass seen']);
  await using two = await startSentinel(redis.port);
  const url = `redis+sentinel://127.0.0.1:${one.port},127.0.0.1:${two.port}/main`;
  const { wrong } = await examine({ url });
  expect(wrong).toEqual([
    expect.objectContaining({
      name: 'redis-sentinels',
      result: 'warning',
      detail: expect.stringMatching(
        new RegExp(`1 of 2 sentinels.*:${one.port} wants a password.*engine.sentinels.password`),
      ),
    }),
  ]);
  const known = await examine({
    url: `redis+sentinel://127.0.0.1:${one.port}/main`,
    sentinels: { password: 'seen' },
  });
  expect(known.wrong).toEqual([]);
  expect(known.text).not.toContain('seen');
});

it('has nothing to do if the configuration has no Redis', async () => {
  const { code, text } = await examine({ type: 'memory' });
  expect(code).toBe(2);
  expect(text).toContain('there is no Redis to check');
});
