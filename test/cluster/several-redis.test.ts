import { describe, expect, it } from 'bun:test';
import { partitionOf } from '../../src/engines/partition.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import type { OwnRedis } from '../../testing/servers/redis.ts';
import type { TestApp } from '../../testing/servers/test-app.ts';
import { startCluster } from './cluster.ts';

describe('two servers over two Redis servers', () => {
  it('continue with the channels of the one while the other is away, and report which one it is', async () => {
    await using cluster = await startCluster(2, { redisCount: 2 });
    const [one, two] = cluster.apps as [TestApp, TestApp];
    const server = cluster.servers[0] as Fanfare;
    const [up, away] = cluster.redisServers as [OwnRedis, OwnRedis];
    /** A channel that lives on one of the Redis servers. */
    const channelOn = (redis: OwnRedis) => {
      const index = cluster.redisServers.indexOf(redis);
      for (let n = 0; ; n++) {
        if (partitionOf({ id: one.id }, `room-${n}`) % 2 === index) return `room-${n}`;
      }
    };
    const [here, there] = [channelOn(up), channelOn(away)];
    await using ann = await two.connect();
    await ann.subscribe(here);
    await ann.subscribe(there);
    const list = () => one.api('GET', '/channels');
    expect(Object.keys(Object(await (await list()).json()).channels).toSorted()).toEqual(
      [here, there].toSorted(),
    );
    for (const channel of [here, there]) {
      await one.trigger({ name: 'e', channel, data: 'x' });
      expect(await ann.receive()).toMatchObject({ event: 'e', channel });
    }

    away.signal('SIGSTOP');
    expect((await one.post('/events', { name: 'e', channel: there, data: 'x' })).status).toBe(503);
    await one.trigger({ name: 'other', channel: here, data: 'x' });
    expect(await ann.receive()).toMatchObject({ event: 'other', channel: here });
    // A list of a part would look like the whole.
    expect((await list()).status).toBe(503);
    const ready = await admin(server, 'GET', '//readyz');
    expect(ready.status).toBe(200);
    expect(ready.text).toMatch(
      new RegExp(`^ready\nrealtime: engine away since \\S+: Redis 127\\.0\\.0\\.1:${away.port}: `),
    );
    expect(ready.text).not.toContain(String(up.port));
    const metrics = async () => (await admin(server, 'GET', '//metrics')).text;
    const during = await metrics();
    expect(during).toContain('fanfare_engine_up{loop="realtime"} 0\n');
    expect(during).toMatch(/fanfare_engine_away_seconds\{loop="realtime"\} (?!0\n)/);
    expect(during).toContain('fanfare_engine_publishes_refused_total 1\n');
    expect(during).toMatch(/fanfare_engine_answer_seconds_count [1-9]/);
    away.signal('SIGCONT');
    await eventually(
      async () => (await list()).status,
      (status) => status === 200,
    );
    expect((await admin(server, 'GET', '//readyz')).text).toBe('ready\n');
    const after = await metrics();
    expect(after).toContain('fanfare_engine_up{loop="realtime"} 1\n');
    expect(after).toContain('fanfare_engine_outages_total 1\n');

    // Another list of Redis servers would split the state.
    const urls = [away.url, up.url];
    const config = { engine: { type: 'redis', urls }, store: { url: cluster.store.url } };
    expect(await startFanfare({ config }).catch(String)).toMatch(
      /exit code 1[\s\S]*engine\.urls\[0\]: Redis holds data of another layout/,
    );
  }, 180_000);
});
