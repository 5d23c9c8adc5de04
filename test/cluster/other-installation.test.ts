import { expect, it } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { admin } from '../../testing/clients/admin-api.ts';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { fanfare } from '../cli/run-fanfare.ts';
import { startCluster } from './cluster.ts';

interface Shown {
  readonly conditions: readonly { readonly id: string; readonly text: string }[];
  readonly servers: readonly { readonly name: string }[];
}

const foreign = async (server: Fanfare) => {
  const { conditions } = (await admin(server, 'GET', '/conditions')).json as Shown;
  return conditions.filter(({ id }) => id === 'other-installation');
};

it('a server of another installation on the same Redis is reported by all, by the doctor too, and no other is', async () => {
  await using cluster = await startCluster(2);
  const [one, two] = cluster.servers as [Fanfare, Fanfare];
  const { json } = await admin(one, 'GET', '/conditions');
  expect((json as Shown).servers).toHaveLength(2);
  const engine = { type: 'redis', url: cluster.redis.url };
  const config = { engine, store: { url: cluster.store.url }, admin: { password: 'one for all' } };
  writeFileSync(join(one.directory, 'doctor.json'), JSON.stringify(config));
  const examine = () =>
    fanfare(one.directory, ['doctor', '--redis', '--config', 'doctor.json', '--timeout', '2']);
  const before = await examine();
  expect(before.stdout).toMatch(/✓ servers +2 servers run here, of this installation: /);
  expect(before.exitCode).toBe(0);

  await using other = await throwAwayPostgres();
  const stranger = await cluster.add({ config: { engine, store: { url: other.url } } });
  const line = /Another installation uses this Redis under the same names.*another database/;
  await Promise.all([one, two, stranger].map((server) => server.logged(line)));
  const [condition] = await eventually(
    () => foreign(one),
    (found) => found.length > 0,
  );
  expect(condition?.text).toContain('its store is another database');
  const after = await examine();
  expect(after.stdout).toMatch(/✗ servers +3 servers run here; 1 of another installation: /);
  expect(after.exitCode).toBe(1);

  // It has ended, and nobody misses it or the doctor.
  await stranger.stop();
  await eventually(
    () => foreign(one),
    (found) => found.length === 0,
  );
  const { json: last } = await admin(two, 'GET', '/conditions');
  expect((last as Shown).conditions.filter(({ id }) => id === 'server-away')).toEqual([]);
  expect((last as Shown).servers).toHaveLength(2);
  const lines = two.output.stderr.match(new RegExp(line, 'g')) ?? [];
  expect(lines).toHaveLength(1);
}, 120_000);
