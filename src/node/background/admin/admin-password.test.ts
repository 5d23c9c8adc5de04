import { expect, it } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeTime } from '../../../../testing/fake-time.ts';
import { adminPasswordFile, createAdminPassword } from '../../../admin/admin-password-file.ts';
import { configIn, load } from '../../../config/loading.fixture.ts';
import { keptLog } from '../../../webhooks/webhooks.fixture.ts';
import { AdminPassword } from './admin-password.ts';

it('leaves the admin API closed while the password cannot be stored', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-password-'));
  const [link, target] = [join(directory, 'link'), join(directory, 'target')];
  // The directory behind the link does not exist, and nothing creates it.
  symlinkSync(target, link);
  const url = `sqlite:${join(link, 'fanfare.db')}`;
  const config = configIn(load({}, { FANFARE_STORE_URL: url }));
  const [timers, log] = [new FakeTime({ turns: 20 }), keptLog()];
  using password = AdminPassword.open({ config, timers, log });
  await timers.advance(5_000);
  expect(password.current).toBeUndefined();
  expect(log.lines).toEqual([
    expect.stringContaining('warn Admin API is closed: its password cannot be stored'),
  ]);

  mkdirSync(target);
  await timers.advance(500);
  expect(password.current).toMatch(/^[\w-]{32}$/);
  expect(readFileSync(join(target, 'fanfare.db.admin-password'), 'utf8')).toBe(
    `${password.current}\n`,
  );
  rmSync(directory, { recursive: true });
});

it('does not overwrite a password that another server has just made', () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-password-'));
  const file = join(directory, 'data/fanfare.db.admin-password');
  const first = createAdminPassword(file);
  expect(createAdminPassword(file)).toEqual(first);
  expect(readdirSync(join(directory, 'data'))).toEqual(['fanfare.db.admin-password']);
  rmSync(directory, { recursive: true });
});

it('is stored beside a SQLite store, and otherwise in data/', () => {
  expect(adminPasswordFile('sqlite:data/fanfare.db')).toBe(
    join(process.cwd(), 'data/fanfare.db.admin-password'),
  );
  expect(adminPasswordFile('sqlite:///var/lib/f.db')).toBe('/var/lib/f.db.admin-password');
  for (const url of ['sqlite::memory:', 'postgres://user:secret@db/fanfare']) {
    expect(adminPasswordFile(url)).toBe(join(process.cwd(), 'data/admin-password'));
  }
});
