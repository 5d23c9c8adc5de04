import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { appAt } from '../../testing/servers/test-app.ts';

/** A Redis that answers, but refuses what a server asks of it. */

/** The rights that the documentation gives to a user of Redis. */
const RIGHTS = documentedRights();

let redis: OwnRedis;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

async function tell(...command: readonly string[]): Promise<void> {
  const client = new Bun.RedisClient(redis.url);
  await client.send(command[0] ?? '', command.slice(1));
  client.close();
}

const startAt = (url: string) =>
  startFanfare({
    config: { engine: { type: 'redis', url }, push: { port: 0, instances: [] } },
  });

const urlOf = (user: string) => redis.url.replace('//', `//${user}:pw@`);

const ready = (server: Fanfare) => admin(server, 'GET', '//readyz');

describe('while Redis refuses to write', () => {
  it.each([
    [
      'replicas are missing',
      ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
      ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
      'NOREPLICAS',
    ],
    [
      'the memory is full',
      ['CONFIG', 'SET', 'maxmemory', '1'],
      ['CONFIG', 'SET', 'maxmemory', '0'],
      'OOM',
    ],
    [
      'a right was taken away',
      ['ACL', 'SETUSER', 'fanfare', '-hincrby'],
      ['ACL', 'SETUSER', 'fanfare', '+hincrby'],
      'HINCRBY',
    ],
  ])(
    'because %s, a server is not ready, says why, and works again afterwards',
    async (_, refuse, allow, why) => {
      await tell('ACL', 'SETUSER', 'fanfare', 'on', '>pw', ...RIGHTS);
      await using server = await startAt(urlOf('fanfare'));
      const app = appAt(server);
      await using ann = await app.connect();
      await ann.subscribe('news');
      const publish = () => app.post('/events', { name: 'e', channel: 'news', data: 'x' });
      await tell(...refuse);
      expect((await publish()).status).toBe(503);
      const refused = await eventually(
        () => ready(server),
        ({ status }) => status === 503,
      );
      expect(refused.text).toMatch(
        new RegExp(
          `realtime: engine refuses commands since \\S+: Redis 127\\.0\\.0\\.1:${redis.port}: .*${why}`,
        ),
      );
      const { text: metrics } = await admin(server, 'GET', '//metrics');
      expect(metrics).toContain('fanfare_engine_up{loop="realtime"} 0\n');
      const { json } = await admin(server, 'GET', '/conditions');
      expect(JSON.stringify(json)).toContain(why);
      await tell(...allow);
      await eventually(
        async () => (await publish()).status,
        (status) => status === 200,
      );
      expect(await ann.receive()).toMatchObject({ event: 'e' });
      // The loop that publishes tells the one that answers.
      await eventually(
        () => ready(server),
        ({ text }) => text === 'ready\n',
      );
      const lines = server.output.stderr.split('\n').filter((line) => line.includes('"level":"'));
      expect(
        lines.filter((line) => line.includes('Redis refuses what this server asks of it')),
      ).toHaveLength(1);
      expect(lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    },
  );
});

it('a server that Redis refuses a script says so at once, waits for a change, and then ends with 1', async () => {
  await tell('ACL', 'SETUSER', 'lacking', 'on', '>pw', ...RIGHTS, '-hincrby');
  const failure = await startAt(urlOf('lacking')).catch(String);
  // A supervisor tries again after 1, and not after 2.
  expect(failure).toMatch(/exit code 1[\s\S]*engine\.url: .*HINCRBY/);
  expect(failure).toMatch(/Redis cannot be used yet.*HINCRBY/);
}, 30_000);

function documentedRights(): readonly string[] {
  const text = readFileSync(join(import.meta.dir, '../../docs/operate/scale.md'), 'utf8');
  const [, rights] = /^ACL SETUSER fanfare on >PASSWORD (.*)$/m.exec(text) ?? [];
  if (rights === undefined) throw new Error('docs/operate/scale.md has no user of Redis');
  return rights.split(' ');
}
