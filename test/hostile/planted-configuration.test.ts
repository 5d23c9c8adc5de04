import { expect, it } from 'bun:test';
import { chmodSync, chownSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { fanfare, temporaryDirectory } from '../cli/run-fanfare.ts';

/** Commands of an operator. Each would use the configuration of the working directory. */
const COMMANDS = [
  ['admin', 'link'],
  ['log'],
  ['send', 'test', 'a', 'b', '{}'],
  ['tail', 'test'],
  ['webhooks', 'list'],
  ['admin', 'password'],
  ['admin', 'password', '--new'],
  ['health'],
  ['serve'],
];

it('a configuration that another user has left in a folder gets no password of the operator', async () => {
  await using server = await startFanfare();
  const passwordFile = join(server.directory, 'fanfare.db.admin-password');
  const received: string[] = [];
  using thief = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      received.push(request.headers.get('authorization') ?? request.url);
      return Response.json({ token: 'x' });
    },
  });
  const planted = {
    store: { url: `sqlite:${join(server.directory, 'fanfare.db')}` },
    admin: { port: thief.port },
  };
  using folder = temporaryDirectory({ 'fanfare.json': JSON.stringify(planted) });
  const file = join(folder.path, 'fanfare.json');
  const password = readFileSync(passwordFile, 'utf8');

  const plants: (() => string)[] = [
    () => {
      // As in /tmp.
      chmodSync(folder.path, 0o1777);
      return folder.path;
    },
    () => {
      chmodSync(folder.path, 0o755);
      chmodSync(file, 0o666);
      return file;
    },
  ];
  if (process.geteuid?.() === 0) {
    plants.push(() => {
      writeFileSync(file, JSON.stringify(planted), { mode: 0o644 });
      chmodSync(file, 0o644);
      chownSync(file, 65_534, 65_534);
      return file;
    });
  }
  for (const plant of plants) {
    const named = plant();
    for (const command of COMMANDS) {
      const { exitCode, stdout, stderr } = await fanfare(folder.path, command);
      expect({ command, stdout, failed: exitCode !== 0 }).toEqual({
        command,
        stdout: '',
        failed: true,
      });
      expect(stderr).toContain(`${named}: `);
      expect(stderr).toContain('or name the file with --config');
    }
  }
  expect(received).toEqual([]);
  expect(readFileSync(passwordFile, 'utf8')).toBe(password);
});
