import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianVersionOf } from './commit.ts';
import { SUMS_FILE } from './sums.ts';

/** What a release of a version consists of; see `docs/operate/install.md`. */
export function releaseFiles(version: string): readonly string[] {
  return [
    `fanfare-${version}.tgz`,
    `fanfare-${version}-image-amd64.tar`,
    `fanfare-${version}-image-arm64.tar`,
    `fanfare-${version}-linux-arm64.tar.gz`,
    `fanfare-${version}-linux-x64.tar.gz`,
    `fanfare-chart-${version}.tgz`,
    `fanfare-js-${version}.tgz`,
    `fanfare_${debianVersionOf(version)}_amd64.deb`,
    `fanfare_${debianVersionOf(version)}_arm64.deb`,
    'install.sh',
    'sbom.cdx.json',
  ];
}

/** The text about a release, by the heading of its version in the changelog; `undefined` without such a heading. */
export function releaseNotes(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const own = sections.find((section) => section.startsWith(`${version} — `));
  return own?.slice(own.indexOf('\n')).trim();
}

/** Why a tag may not be released from a clone; empty if it may. */
export function sourceProblems(root: string, tag: string): readonly string[] {
  const problems: string[] = [];
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const { version } = JSON.parse(read('package.json'));
  if (tag !== `v${version}`) {
    problems.push(`The tag is ${tag}, but package.json has the version ${version}.`);
  }
  const locked = JSON.parse(read('package-lock.json')).version;
  if (locked !== version) {
    problems.push(`package-lock.json has the version ${locked}, not ${version}.`);
  }
  const ofSdk = JSON.parse(read('sdk/fanfare-js/package.json')).version;
  if (ofSdk !== version) {
    problems.push(`sdk/fanfare-js/package.json has the version ${ofSdk}, not ${version}.`);
  }
  const changelog = read('CHANGELOG.md');
  if ((releaseNotes(changelog, version) ?? '') === '') {
    problems.push(`CHANGELOG.md says nothing below a heading "## ${version} — YYYY-MM-DD".`);
  } else if (
    !new RegExp(`^## ${RegExp.escape(version)} — \\d{4}-\\d{2}-\\d{2}$`, 'm').test(changelog)
  ) {
    problems.push(`The heading of ${version} in CHANGELOG.md has no date.`);
  }
  if ((/^## Unreleased\n([\s\S]*?)^## /m.exec(changelog)?.[1] ?? '').trim() !== '') {
    problems.push('CHANGELOG.md still has changes below "Unreleased".');
  }
  return problems;
}

/** Why the files of a folder are not the release of a version; empty if they are. */
export function folderProblems(folder: string, version: string): readonly string[] {
  const expected = releaseFiles(version);
  const found = readdirSync(folder).filter((name) => name !== SUMS_FILE);
  const missing = expected.filter((name) => !found.includes(name));
  const foreign = found.filter((name) => !expected.includes(name));
  const problems = [
    ...missing.map((name) => `${name} is missing.`),
    ...foreign.map((name) => `${name} is no part of ${version}.`),
  ];
  const file = join(folder, SUMS_FILE);
  if (!existsSync(file)) return [...problems, `${SUMS_FILE} is missing.`];
  const sums = new Map(
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  );
  for (const name of found) {
    const sum = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    if (sums.get(name) !== sum) problems.push(`${SUMS_FILE} has no true sum of ${name}.`);
  }
  return problems;
}
