import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './bundle.ts';
import { commitTime } from './commit.ts';
import { run } from './run.ts';

/** Packs files of a folder. The same content gives the same bytes on every machine, at any time and for any user. */
export function tarOf(folder: string, names: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
  const tar = ['tar', '--format=ustar', '--sort=name', `--mtime=@${commitTime(ROOT)}`, ...owner];
  const work = mkdtempSync(join(tmpdir(), 'fanfare-tar-'));
  const archive = join(work, 'archive.tar');
  run([...tar, '-cf', archive, ...names], { cwd: folder });
  return Bun.file(archive)
    .bytes()
    .finally(() => rmSync(work, { recursive: true, force: true }));
}
