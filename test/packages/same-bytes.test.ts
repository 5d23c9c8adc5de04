import { afterAll, expect, it } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { versionOf } from '../../packaging/commit.ts';
import { releaseFiles } from '../../packaging/release-problems.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { toEnd } from './unpacked-image.ts';

const ROOT = join(import.meta.dir, '../..');

const folder = temporaryDirectory();
afterAll(() => folder[Symbol.dispose]());

interface Maker {
  /** The name of the folder. */
  readonly name: string;
  readonly umask: string;
  readonly environment: readonly string[];
}

/** Packs a clone of this commit, and returns the sums. Images have a test of their own. */
function sumsOf({ name, umask, environment }: Maker): readonly string[] {
  const clone = join(folder.path, name);
  mkdirSync(join(clone, '..'), { recursive: true });
  const commands = [
    `umask ${umask}`,
    'git clone --quiet --no-local "$0" "$1"',
    'cd "$1"',
    // Links between files are no link in place of the folder.
    'cp -al "$0/node_modules" . 2>/dev/null || cp -a "$0/node_modules" .',
    'sh scripts/bun.sh packaging/package.ts --only npm,binary,deb,chart,sbom',
  ];
  const command = `set -e; ${commands.join('; ')}`;
  toEnd(['env', ...environment, 'sh', '-c', command, ROOT, clone]);
  return readFileSync(join(clone, 'dist/SHA256SUMS'), 'utf8').trim().split('\n');
}

it('two clones of a commit make the same bytes, whatever they are called and whoever owns them', () => {
  const first = sumsOf({ name: 'fanfare', umask: '022', environment: [] });
  const second = sumsOf({
    name: 'of a user/whose files are private',
    umask: '077',
    environment: ['TZ=Asia/Kolkata', 'LC_ALL=C.UTF-8', `HOME=${folder.path}`],
  });
  const version = versionOf(join(folder.path, 'fanfare'));
  const made = releaseFiles(version).filter((file) => !file.includes('-image-'));
  expect(first.map((line) => line.slice(66)).sort()).toEqual([...made].sort());
  expect(second).toEqual(first);
}, 900_000);
