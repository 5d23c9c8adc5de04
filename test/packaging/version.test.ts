import { expect, it } from 'bun:test';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianVersionOf, versionOf } from '../../packaging/commit.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const PACKAGING = join(import.meta.dir, '../../packaging');

/** A clone as far as its version depends on it. */
function clone() {
  const directory = temporaryDirectory({
    'package.json': '{\n  "version": "1.2.3",\n  "type": "x"\n}\n',
  });
  mkdirSync(join(directory.path, 'packaging'));
  writeFileSync(join(directory.path, 'CHANGELOG.md'), '## Unreleased\n\n## 1.2.2 — 2026-11-01\n');
  cpSync(join(PACKAGING, 'version.sh'), join(directory.path, 'packaging/version.sh'));
  const run = (command: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const options = { cwd: directory.path, env: { ...process.env, ...env } };
    const { exitCode, stdout, stderr } = Bun.spawnSync([...command], options);
    expect([command, exitCode, stderr.toString()]).toEqual([command, 0, '']);
    return stdout.toString().trim();
  };
  const git = (...args: readonly string[]) =>
    run(['git', '-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args]);
  const commit = (time: string) => {
    git('add', '--all');
    const date = {
      GIT_COMMITTER_DATE: time,
      GIT_AUTHOR_DATE: time,
      GIT_CONFIG_GLOBAL: '/dev/null',
    };
    const author = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];
    run(['git', ...author, 'commit', '--quiet', '--allow-empty', '--message=x'], date);
    return git('rev-parse', 'HEAD');
  };
  return { ...directory, git, run, commit, version: () => versionOf(directory.path) };
}

it('a build at the tag of its version has that version, and others the time of their commit', () => {
  using here = clone();
  // A source archive, perhaps in the repository of another project.
  expect(here.version()).toBe('1.2.3');
  here.git('init', '--quiet');
  expect(here.version()).toBe('1.2.3');
  here.commit('2026-11-28T00:05:09+02:00');
  here.git('tag', 'v1.2.30');
  expect(here.version()).toBe('1.2.3-dev.20261127220509');
  writeFileSync(join(here.path, 'CHANGELOG.md'), '## Unreleased\n\n## 1.2.3 — 2026-11-27\n');
  here.commit('2026-11-28T00:05:10+02:00');
  expect(here.version()).toBe('1.2.3+20261127220510');
  here.git('tag', 'v1.2.3');
  expect(here.version()).toBe('1.2.3');
  writeFileSync(join(here.path, 'changed'), '');
  expect(here.version()).toBe('1.2.3+20261127220510.modified');
  const commit = here.commit('2026-11-28T09:00:00Z');
  expect(here.version()).toBe('1.2.3+20261128090000');
  expect(here.run(['sh', 'packaging/version.sh', '--build-args'])).toBe(
    `--build-arg VERSION=1.2.3+20261128090000 --build-arg COMMIT=${commit}`,
  );
});

it('for Debian, a later build is a later version, and the next release a later one still', () => {
  const ascending = [
    '1.2.3',
    '1.2.3+20261127220509',
    '1.2.3+20261127220509.modified',
    '1.2.3+20261128000001',
    '1.2.4-dev.20261128000002',
    '1.2.4-dev.20261129000000',
    '1.2.4',
  ].map(debianVersionOf);
  for (const [index, version] of ascending.slice(1).entries()) {
    const compared = ['dpkg', '--compare-versions', ascending[index] ?? '', 'lt', version];
    expect([version, Bun.spawnSync(compared).exitCode]).toEqual([version, 0]);
  }
});
