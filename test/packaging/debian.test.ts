import { expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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
