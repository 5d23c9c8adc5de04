import { afterAll, beforeAll, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../../src/cli/run.ts';
import type { CheckResult } from '../../../src/doctor/report.ts';
import { SLOTS } from '../../../src/engines/redis/link/cluster/slots.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type RedisCluster, startRedisCluster } from '../../../testing/servers/redis-cluster.ts';

/** `fanfare doctor --redis` for a Redis Cluster. */

let cluster: RedisCluster;

beforeAll(async () => {
  const user = (name: string, ...more: readonly string[]) => [
    ...['--user', name, 'on', '>SECRET', '~fanfare:*', '&fanfare:*', '+@all', ...more],
  ];
  cluster = await startRedisCluster({
    options: [...user('timeless', '-time'), ...user('scriptless', '-evalsha', '-eval')],
  });
}, 180_000);
afterAll(() => cluster[Symbol.asyncDispose]());

async function examine(user?: string) {
  const login = user === undefined ? '//' : `//${user}:SECRET@`;
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-doctor-'));
  const config = join(directory, 'fanfare.json');
  const url = cluster.url.replace('//', login);
  writeFileSync(
    config,
    JSON.stringify({ engine: { type: 'redis', url }, admin: { password: 'one for all' } }),
  );
  const printed: string[] = [];
  const said = (text: string) => void printed.push(text);
  const code = await run(['doctor', '--redis', '--json', '--timeout', '5', '--config', config], {
    print: said,
    complain: said,
  });
  rmSync(directory, { recursive: true });
  const checks: readonly CheckResult[] = JSON.parse(printed.join('\n')).checks;
  return { code, checks, wrong: checks.filter(({ result }) => result !== 'ok') };
}

it('shows the masters, who has which share of the slots, and what each master does', async () => {
  const { code, checks, wrong } = await eventually(
    () => examine(),
    ({ checks: [first] }) => first?.detail.includes('3 replicas') === true,
  );
  expect(wrong).toEqual([]);
  expect(code).toBe(0);
  const [redis, slots, ...others] = checks;
  expect(redis).toMatchObject({
    name: 'redis',
    detail: expect.stringMatching(
      /: (?:Redis|Valkey) [\d.]+, cluster of 3 masters and 3 replicas, answers in [\d.]+ ms$/,
    ),
  });
  expect(slots?.name).toBe('redis-slots');
  const shares = Array.from(slots?.detail.matchAll(/ has (\d+)/g) ?? [], ([, n]) => Number(n));
  expect(shares.toSorted()).toEqual([5, 5, 6]);
  const masters = new Set<string>();
  for (const { number } of SLOTS) masters.add(`127.0.0.1:${(await cluster.masterOf(number)).port}`);
  for (const name of ['redis-layout', 'redis-scripts', 'redis-publish']) {
    const found = others.filter((check) => check.name === name);
    for (const at of masters) {
      expect(found.filter(({ detail }) => detail.startsWith(`${at}: `))).toHaveLength(1);
    }
  }
});

it('says what a user lacks', async () => {
  expect((await examine('timeless')).checks).toContainEqual(
    expect.objectContaining({ name: 'redis-scripts', detail: expect.stringContaining('but TIME') }),
  );
  const { code, wrong } = await examine('scriptless');
  expect(code).toBe(1);
  expect(wrong).toContainEqual(
    expect.objectContaining({ name: 'redis-scripts', detail: expect.stringContaining('NOPERM') }),
  );
});

it('warns of slots that lie mostly at one master, and of masters that stop with others', async () => {
  const [first, last] = [SLOTS[0]?.number ?? 0, SLOTS[15]?.number ?? 0];
  const to = await cluster.masterOf(first);
  for (const { number } of SLOTS.slice(6)) {
    if ((await cluster.masterOf(number)) !== to) await cluster.moveSlot(number, to);
  }
  expect(await cluster.masterOf(last)).toBe(to);
  const slots = async () => (await examine()).checks.find(({ name }) => name === 'redis-slots');
  expect(await slots()).toMatchObject({ result: 'warning', detail: expect.stringContaining('16') });
  for (const node of cluster.nodes) {
    await node.run('CONFIG', 'SET', 'cluster-require-full-coverage', 'yes');
  }
  expect(await slots()).toMatchObject({
    result: 'warning',
    detail: expect.stringContaining('when one master dies, all others refuse'),
  });
});
