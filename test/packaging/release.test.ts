import { describe, expect, it } from 'bun:test';
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  folderProblems,
  releaseFiles,
  releaseNotes,
  sourceProblems,
} from '../../packaging/release-problems.ts';
import { writeSums } from '../../packaging/sums.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const CHANGELOG = `# Changelog

## Unreleased

## 1.2.3 — 2026-11-24

- It works.

## 1.2.2 — 2026-10-01

- It began.
`;

/** A clone as far as a release looks at it. */
function clone({
  changelog = CHANGELOG,
  lock = '1.2.3',
  sdk = '1.2.3',
}: Readonly<Partial<Record<'changelog' | 'lock' | 'sdk', string>>> = {}) {
  const directory = temporaryDirectory({ 'CHANGELOG.md': changelog });
  mkdirSync(join(directory.path, 'sdk/fanfare-js'), { recursive: true });
  const write = (file: string, content: object) =>
    writeFileSync(join(directory.path, file), JSON.stringify(content));
  write('package.json', { version: '1.2.3' });
  write('package-lock.json', { version: lock });
  write('sdk/fanfare-js/package.json', { version: sdk });
  return directory;
}

describe('a release is refused', () => {
  it.each([
    ['v1.2.4', {}, 'The tag is v1.2.4, but package.json has the version 1.2.3.'],
    ['1.2.3', {}, 'The tag is 1.2.3, but package.json has the version 1.2.3.'],
    ['v1.2.3', { lock: '1.2.2' }, 'package-lock.json has the version 1.2.2, not 1.2.3.'],
    ['v1.2.3', { sdk: '1.2.2' }, 'sdk/fanfare-js/package.json has the version 1.2.2, not 1.2.3.'],
    [
      'v1.2.3',
      { changelog: CHANGELOG.replace('## 1.2.3', '## 1.2.30') },
      'CHANGELOG.md says nothing below a heading "## 1.2.3 — YYYY-MM-DD".',
    ],
    [
      'v1.2.3',
      { changelog: CHANGELOG.replace('- It works.\n', '') },
      'CHANGELOG.md says nothing below a heading "## 1.2.3 — YYYY-MM-DD".',
    ],
    [
      'v1.2.3',
      { changelog: CHANGELOG.replace('2026-11-24', 'soon') },
      'The heading of 1.2.3 in CHANGELOG.md has no date.',
    ],
    [
      'v1.2.3',
      { changelog: CHANGELOG.replace('Unreleased\n', 'Unreleased\n\n- More.\n') },
      'CHANGELOG.md still has changes below "Unreleased".',
    ],
  ])('as %s of %p', (tag, parts, problem) => {
    using directory = clone(parts);
    expect(sourceProblems(directory.path, tag)).toEqual([problem]);
  });

  it('as this clone with a tag of another version', () => {
    const { exitCode, stderr } = Bun.spawnSync([
      ...['sh', 'scripts/bun.sh', 'packaging/check-release.ts', '--tag', 'v99.0.0'],
    ]);
    expect([exitCode, stderr.toString()]).toEqual([1, expect.stringContaining('v99.0.0')]);
  });
});

it('a release is accepted whose tag, version and changelog agree', () => {
  using directory = clone();
  expect(sourceProblems(directory.path, 'v1.2.3')).toEqual([]);
});

it('the notes of a release are its part of the changelog', () => {
  expect(releaseNotes(CHANGELOG, '1.2.3')).toBe('- It works.');
  expect(releaseNotes(CHANGELOG, '1.2.2')).toBe('- It began.');
  expect(releaseNotes(CHANGELOG, '1.2.1')).toBeUndefined();
});

describe('the files of a release', () => {
  /** A folder with a file of each name, and their sums. */
  function folder() {
    const names = releaseFiles('1.2.3');
    const directory = temporaryDirectory(Object.fromEntries(names.map((name) => [name, name])));
    writeSums(directory.path);
    return directory;
  }

  it('are all there with their sums', () => {
    using directory = folder();
    expect(folderProblems(directory.path, '1.2.3')).toEqual([]);
    const sums = readFileSync(join(directory.path, 'SHA256SUMS'), 'utf8');
    expect(sums.trimEnd().split('\n')).toHaveLength(releaseFiles('1.2.3').length);
  });

  it('are refused if one is missing, foreign or changed', () => {
    using directory = folder();
    const at = (name: string) => join(directory.path, name);
    cpSync(at('install.sh'), at('fanfare-1.2.2.tgz'));
    rmSync(at('fanfare_1.2.3_arm64.deb'));
    appendFileSync(at('fanfare-1.2.3.tgz'), 'x');
    expect(folderProblems(directory.path, '1.2.3')).toEqual([
      'fanfare_1.2.3_arm64.deb is missing.',
      'fanfare-1.2.2.tgz is no part of 1.2.3.',
      expect.stringMatching(/^SHA256SUMS has no true sum of fanfare-1\.2\.[23]\.tgz\.$/),
      expect.stringMatching(/^SHA256SUMS has no true sum of fanfare-1\.2\.[23]\.tgz\.$/),
    ]);
  });

  it('are refused without sums', () => {
    using directory = folder();
    rmSync(join(directory.path, 'SHA256SUMS'));
    expect(folderProblems(directory.path, '1.2.3')).toEqual(['SHA256SUMS is missing.']);
  });
});
