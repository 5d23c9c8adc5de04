import { Database } from 'bun:sqlite';
import { expect, it } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import packageJson from '../../package.json';
import { openDatabase } from '../../src/stores/database/database.ts';
import { migrations } from '../../src/stores/database/migrations.ts';
import { admin, makeApp } from '../../testing/clients/admin-api.ts';
import { changeStore } from '../../testing/databases/change-store.ts';
import { eventually } from '../../testing/eventually.ts';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { FREE_PORTS, fanfare, temporaryDirectory } from '../cli/run-fanfare.ts';

it('a server refuses the store of a later release in one line, as docs/operate/upgrade.md shows, and changes nothing', async () => {
  using directory = temporaryDirectory();
  const url = `sqlite:${join(directory.path, 'store.db')}`;
  await (await openDatabase(url))[Symbol.asyncDispose]();
  await using sql = new SQL(url);
  await sql`INSERT INTO migrations (number, release) VALUES (999, '9.8.7')`;
  await sql`UPDATE compatibility SET needs = 999`;
  const before = await sql`SELECT * FROM sqlite_schema`;

  const environment = { ...FREE_PORTS, FANFARE_STORE_URL: url };
  const { exitCode, stdout, stderr } = await fanfare(directory.path, ['serve'], environment);
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(stderr).toContain('it was changed by Fanfare 9.8.7 (migration 999)');
  expect(await sql`SELECT * FROM sqlite_schema`).toEqual(before);

  const page = await Bun.file(join(import.meta.dir, '../../docs/operate/upgrade.md')).text();
  const shown = /```\n(The store [\s\S]*?)\n```/.exec(page)?.[1] ?? '';
  const inExample = stderr
    .replace(/^.*?The store \S+/, 'The store sqlite:data/fanfare.db')
    .replaceAll('9.8.7', '0.3.0')
    .replace('migration 999', 'migration 31')
    .replace(
      `Fanfare ${packageJson.version} (migration ${migrations.length})`,
      'Fanfare 0.2.0 (migration 25)',
    );
  expect(inExample.trim()).toBe(shown.replaceAll('\n', ' '));
});

it('an app with settings of a later version is served without them, and keeps them in the store', async () => {
  await using server = await startFanfare({ onlyOne: 'sqlite-file' });
  const made = await makeApp(server, { clientEvents: true });
  const later = JSON.stringify({ clientEvents: true, limits: { rooms: 3 }, rooms: true });
  await changeStore(
    server,
    `UPDATE apps SET settings = '${later}' WHERE id = '${made.id}'`,
    `UPDATE revisions SET revision = revision + 1 WHERE what = 'apps'`,
  );
  await eventually(
    async () => (await admin(server, 'GET', '/conditions')).text,
    (text) => text.includes('does not apply them: limits.rooms, rooms.'),
  );
  await using client = await new TestApp(server, made).connect();
  await client.subscribe('news');
  const changed = await admin(server, 'PATCH', `/apps/${made.id}`, { body: { name: 'renamed' } });
  expect(changed.status).toBe(200);
  using store = new Database(join(server.directory, 'fanfare.db'), { readonly: true });
  const row = store.query('SELECT name, settings FROM apps WHERE id = ?').get(made.id);
  expect(row).toEqual({ name: 'renamed', settings: later });
  const unknown = await admin(server, 'PATCH', `/apps/${made.id}`, { body: { rooms: false } });
  expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining('rooms')]);
}, 60_000);
