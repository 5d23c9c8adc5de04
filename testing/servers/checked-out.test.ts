import { afterAll, beforeAll, expect, it } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkOut, UnknownCommit } from './checked-out.ts';

const repository = mkdtempSync(join(tmpdir(), 'fanfare-repository-'));
const author = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];

function git(...args: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(['git', ...author, ...args], {
    cwd: repository,
  });
  if (!success) throw new Error(stderr.toString());
  return stdout.toString();
}

/** Commits a version whose installation writes its argument into a file. */
function commit(version: string): void {
  writeFileSync(join(repository, 'version'), version);
  git('add', '.');
  git('commit', '--quiet', '--message', version);
}

beforeAll(() => {
  git('init', '--quiet');
  mkdirSync(join(repository, 'scripts'));
  writeFileSync(join(repository, 'scripts/install-packages.sh'), 'echo "$1" >installed\n');
  commit('first');
  commit('second');
});

afterAll(() => rmSync(repository, { recursive: true }));

it('checks out a commit, installs its packages, and removes both', () => {
  const { folder, [Symbol.dispose]: dispose } = checkOut('HEAD~1', repository);

  expect(readFileSync(join(folder, 'version'), 'utf8')).toBe('first');
  expect(readFileSync(join(folder, 'installed'), 'utf8')).toBe('run\n');
  dispose();
  expect(existsSync(join(folder, '..'))).toBe(false);
  expect(git('worktree', 'list')).not.toContain(folder);
});

it('refuses what is no commit of the repository', () => {
  for (const unknown of ['no-such-branch', '', '--all', 'HEAD:version']) {
    const checkOutUnknown = () => checkOut(unknown, repository);

    expect(checkOutUnknown).toThrow(UnknownCommit);
    expect(checkOutUnknown).toThrow(`there is no commit "${unknown}"`);
  }
});
