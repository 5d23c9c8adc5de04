import { expect, it } from 'bun:test';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { md5sums } from '../../packaging/debian-package.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const DEBIAN = join(import.meta.dir, '../../packaging/debian');
const text = (file: string) => readFileSync(join(DEBIAN, file), 'utf8');

it('has scripts that a shell can read, and that end at the first failure', () => {
  for (const script of ['postinst', 'prerm', 'postrm']) {
    expect(text(script)).toStartWith('#!/bin/sh\nset -e\n');
    const { exitCode, stderr } = Bun.spawnSync(['sh', '-n', join(DEBIAN, script)]);
    expect([exitCode, stderr.toString()]).toEqual([0, '']);
  }
});

it('keeps the configuration of the operator at an upgrade, which is the one that the unit names', () => {
  const [kept] = text('conffiles').split('\n');
  const unit = readFileSync(join(DEBIAN, '../systemd/fanfare.service'), 'utf8');
  expect(unit).toContain(`--config ${kept}\n`);
});

it('removes the store only when it is purged', () => {
  const removals = ['postinst', 'prerm', 'postrm'].flatMap((script) =>
    text(script)
      .split(/^if /m)
      .filter((part) => part.includes('/var/lib/fanfare') && part.includes('rm -rf')),
  );
  expect(removals).toHaveLength(1);
  expect(removals[0]).toStartWith('[ "$1" = purge ]');
});

it('has the sums by which dpkg finds changed files, without those of the configuration', () => {
  using directory = temporaryDirectory();
  const files = {
    'usr/bin/fanfare': 'program',
    'usr/share/doc/fanfare/a page': 'text',
    'etc/fanfare/fanfare.yaml': 'the operator\u2019s',
    'DEBIAN/conffiles': '/etc/fanfare/fanfare.yaml\n',
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(directory.path, name, '..'), { recursive: true });
    writeFileSync(join(directory.path, name), content);
  }
  const sums = md5sums(directory.path);
  writeFileSync(join(directory.path, 'DEBIAN/md5sums'), sums);
  const checked = Bun.spawnSync(['md5sum', '--check', '--strict', 'DEBIAN/md5sums'], {
    cwd: directory.path,
  });
  expect(checked.stdout.toString()).toBe('usr/bin/fanfare: OK\nusr/share/doc/fanfare/a page: OK\n');
});

it.each([
  ['kill -ILL $$', 'needs x86-64-v2, which has SSE4.2'],
  ['exit 0', ''],
  ['exit 1', ''],
])('says at its installation if the processor lacks what the server needs: %s', (program, said) => {
  const nothing = '#!/bin/sh\nexit 0\n';
  const names = [
    'adduser',
    'chgrp',
    'chmod',
    'deb-systemd-helper',
    'deb-systemd-invoke',
    'systemctl',
  ];
  using tools = temporaryDirectory({
    ...Object.fromEntries(names.map((name) => [name, nothing])),
    fanfare: `#!/bin/sh\n${program}\n`,
  });
  for (const name of ['fanfare', ...names]) chmodSync(join(tools.path, name), 0o755);
  const { exitCode, stderr } = Bun.spawnSync(
    ['/bin/sh', join(DEBIAN, 'postinst'), 'configure', ''],
    {
      env: { PATH: tools.path },
    },
  );
  expect(exitCode).toBe(0);
  if (said === '') expect(stderr.toString()).toBe('');
  else expect(stderr.toString()).toContain(said);
});
