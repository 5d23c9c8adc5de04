import { spawnSync } from 'node:child_process';

/** The commit of a clone, 12 digits, with `-modified` if files differ from it; `undefined` without git. */
export function commitOf(root: string): string | undefined {
  const head = git(root, 'rev-parse', '--short=12', 'HEAD');
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
