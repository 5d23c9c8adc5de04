import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { run } from './run.ts';

/** The version of what is made from a clone; see `version.sh`. */
export function versionOf(root: string): string {
  return run(['sh', join(root, 'packaging/version.sh')], { cwd: root }).trim();
}

/** The version of a Debian package: there, a tilde sorts before the release, as a hyphen does in SemVer. */
export function debianVersionOf(version: string): string {
  return version.replace('-', '~');
}

/** The version in the tag of an image, where no plus may be. The chart replaces it in the same way. */
export function tagOf(version: string): string {
  return version.replace('+', '_');
}

/** The commit of a clone, with `-modified` if files differ from it; `undefined` without git. */
export function commitOf(root: string): string | undefined {
  const head = git(root, 'rev-parse', 'HEAD');
  if (head === undefined) return undefined;
  return git(root, 'status', '--porcelain') === '' ? head : `${head}-modified`;
}

/** When the commit was made, in seconds since 1970; 0 without git. */
export function commitTime(root: string): number {
  return Number(git(root, 'log', '-1', '--format=%ct') ?? 0);
}

function git(root: string, ...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
