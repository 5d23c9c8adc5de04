import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../testing/eventually.ts';
import { startFanfare } from '../../../testing/servers/fanfare.ts';
import { issued, selfSigned } from '../../../testing/servers/openssl.ts';
import { sharedRedis } from '../../../testing/servers/redis.ts';
import { type RedisCluster, startRedisCluster } from '../../../testing/servers/redis-cluster.ts';
import { appAt } from '../../../testing/servers/test-app.ts';
import { app } from '../../contracts/redis-node.ts';
import { channel } from '../../contracts/values.ts';
import { documentedRights, openLoop } from './engines.fixture.ts';

/** What a start needs of a Redis Cluster, and what it says if that is missing. */

let cluster: RedisCluster;

beforeAll(async () => {
  const user = (name: string, ...more: readonly string[]) => [
    ...['--user', name, 'on', '>SECRET', ...documentedRights(), ...more],
  ];
  cluster = await startRedisCluster({
    replicasPerMaster: 0,
    options: [
      ...user('timeless', '-time'),
      ...user('scriptless', '-eval', '-evalsha'),
      ...user('shardless', '-ssubscribe'),
      ...user('silent', '-spublish'),
      ...user('blind', '-cluster|slots'),
    ],
  });
}, 180_000);
afterAll(() => cluster[Symbol.asyncDispose]());

const urlOf = (name: string) => cluster.url.replace('//', `//${name}:SECRET@`);

/** Starts a server. Returns what it has printed if it ends. */
const start = (url: string) =>
  startFanfare({
    config: { engine: { type: 'redis', url }, push: { port: 0, instances: [] } },
  }).catch(String);

/** Joins a channel, publishes to it, and asks for its members. */
async function expectWorking(url: string): Promise<void> {
  const problems: unknown[] = [];
  await using loop = await openLoop(1, url, problems);
  await loop.node.join('presence-room', 'ann');
  await loop.node.publish('presence-room', 'hello');
  const [ann] = loop.node.clients;
  await eventually(
    () => ann?.events ?? [],
    ([event]) => event === 'hello',
  );
  const members = await loop.engine.members(app, channel('presence-room'));
  expect(members.map(({ userId }) => userId)).toEqual(['ann']);
  expect(problems).toEqual([]);
}

describe('a server over a Redis Cluster', () => {
  it('works where scripts may not ask for the time', async () => {
    await expectWorking(urlOf('timeless'));
    for (const node of cluster.nodes) {
      expect(String(await node.run('INFO', 'commandstats'))).toMatch(/cmdstat_evalsha:/);
    }
  });

  it.each([
    ['scriptless', /^this Redis does not run scripts, which the engine needs: NOPERM .*evalsha/],
    [
      'shardless',
      /^this Redis has no sharded .*\(SSUBSCRIBE\), which a cluster needs: NOPERM .*ssubscribe/,
    ],
    ['silent', /^this Redis has no sharded .*: ERR .*\(SPUBLISH\)$/],
  ])('does not start as the user "%s", and says why at once', async (name, why) => {
    const failure = await openLoop(1, urlOf(name), []).catch((error) => error);
    expect(failure).toMatchObject({ name: 'ServerUnusable', message: expect.stringMatching(why) });
    expect(failure.cause.name).toBe('RedisUnsuitable');
  });

  it('does not start as a user who may not ask for the slots, and says which right is missing', async () => {
    const failure = await openLoop(1, urlOf('blind'), []).catch((error) => error);
    expect(failure.message).toMatch(/ACL SETUSER NAME \+cluster\|slots/);
  }, 30_000);

  it('ends with 2 if the service lacks what the engine needs, in one line', async () => {
    expect(await start(urlOf('scriptless'))).toMatch(
      /exit code 2[\s\S]*engine\.url: this Redis does not run scripts, which the engine needs: NOPERM .*evalsha/,
    );
    expect(await start(urlOf('shardless'))).toMatch(
      /exit code 2[\s\S]*engine\.url: this Redis has no sharded publish and subscribe \(SSUBSCRIBE\), which a cluster needs: NOPERM /,
    );
  }, 180_000);

  it('ends with 2 if the address is that of another kind of Redis', async () => {
    expect(await start(cluster.url.replace('+cluster', ''))).toMatch(
      /exit code 2[\s\S]*engine\.url: this Redis is a cluster: begin the URL with redis\+cluster:\/\/ \(TLS: rediss\+cluster:\/\/\)/,
    );
    const single = (await sharedRedis()).replace('redis:', 'redis+cluster:');
    expect(await start(single)).toMatch(
      /exit code 2[\s\S]*engine\.url: this Redis is not a cluster: begin the URL with redis:\/\/ \(TLS: rediss:\/\/\)/,
    );
    const listed = startFanfare({
      config: {
        engine: { type: 'redis', urls: [single.replace('+cluster', ''), cluster.url] },
        push: { port: 0, instances: [] },
      },
    });
    expect(await listed.catch(String)).toMatch(
      /exit code 2[\s\S]*engine\.urls\[1\]: a cluster is one address: set engine\.url/,
    );
    expect(await start(`${cluster.url}/0`)).toMatch(
      /exit code 2[\s\S]*engine\.url: the URL of Redis does not have the form .*redis\+cluster:\/\/HOST,HOST/,
    );
  }, 180_000);
});

it('a cluster that speaks TLS, with an authority of its own, is served by one address', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-cluster-tls-'));
  selfSigned(folder, 'authority');
  const { certFile, keyFile } = issued(folder, 'authority', 'redis', {
    days: 30,
    host: 'IP:127.0.0.1',
  });
  const caFile = join(folder, 'authority.pem');
  await using secure = await startRedisCluster({
    replicasPerMaster: 0,
    tls: { certFile, keyFile, caFile },
    options: ['--tls-auth-clients', 'no'],
  });
  await using server = await startFanfare({
    config: {
      engine: { type: 'redis', url: secure.url, tls: { caFile } },
      push: { port: 0, instances: [] },
    },
  });
  const there = appAt(server);
  await using client = await there.connect();
  await client.subscribe('news');
  await there.trigger({ name: 'hello', channel: 'news', data: '1' });
  expect(await client.receive()).toMatchObject({ event: 'hello', channel: 'news', data: '1' });
  rmSync(folder, { recursive: true });
}, 180_000);
