import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A commit that is not to be had here. The message is for whoever named it. */
export class UnknownCommit extends Error {
  override readonly name = 'UnknownCommit';
}

/** The files of a commit with the packages that its server needs, until it is disposed. */
export interface CheckedOut extends Disposable {
  readonly folder: string;
  /** The commit as it was given, for people. */
  readonly name: string;
}

/**
 * Checks out a commit of this repository (or of the one around another folder) into a temporary folder. Throws
 * `UnknownCommit` if there is no such commit.
 */
export function checkOut(commit: string, within: string = import.meta.dir): CheckedOut {
  if (Bun.which('git') === null) throw new UnknownCommit('an older version needs git');
  const git = (...args: string[]) => run(['git', ...args], within);
  const name = `${commit}^{commit}`;
  const found = git('rev-parse', '--verify', '--quiet', '--end-of-options', name);
  if (!found.success) throw new UnknownCommit(`there is no commit "${commit}" in this repository`);

  const parent = mkdtempSync(join(tmpdir(), 'fanfare-checked-out-'));
  const folder = join(parent, 'fanfare');
  const remove = () => {
    process.off('exit', remove);
    git('worktree', 'remove', '--force', folder);
    rmSync(parent, { recursive: true, force: true });
  };
  // For an end that unwinds nothing, such as Ctrl-C.
  process.once('exit', remove);
  try {
    done(git('worktree', 'add', '--detach', folder, found.stdout.toString().trim()));
    done(run(['sh', 'scripts/install-packages.sh', 'run'], folder));
  } catch (error) {
    remove();
    throw error;
  }
  return { folder, name: commit, [Symbol.dispose]: remove };
}

function run(command: string[], cwd: string) {
  return Bun.spawnSync(command, { cwd, stdout: 'pipe', stderr: 'pipe' });
}

function done({ success, stderr }: ReturnType<typeof run>): void {
  if (!success) throw new Error(stderr.toString().trim());
}
