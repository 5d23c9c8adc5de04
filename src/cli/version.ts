import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT_VERSION } from '../node/built-version.ts';

/** The commit, put in place by the build of the binary. */
declare const BUILD_COMMIT: string | undefined;

/** The version, and what else a report of a fault needs: the commit, Bun, and the platform. */
export function versionText(): string {
  const commit = commitOfThis();
  const details = [
    ...(commit === undefined ? [] : [`commit ${commit}`]),
    `Bun ${Bun.version}`,
    `${process.platform}-${process.arch}`,
  ];
  return `${BUILT_VERSION} (${details.join(', ')})`;
}

function commitOfThis(): string | undefined {
  return typeof BUILD_COMMIT === 'string' ? BUILD_COMMIT : commitOfClone();
}

/** Git is asked only in a clone: a package may be inside another project's repository. */
function commitOfClone(): string | undefined {
  const root = join(import.meta.dir, '../..');
  if (!existsSync(join(root, '.git'))) return undefined;
  const { status, stdout } = spawnSync('git', ['rev-parse', '--short=12', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 2000,
  });
  return status === 0 ? stdout.trim() : undefined;
}
