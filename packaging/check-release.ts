import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../package.json';
import { ROOT } from './bundle.ts';
import { folderProblems, releaseNotes, sourceProblems } from './release-problems.ts';

/*
 * Reports why a release must not be published, and then ends with 1:
 *
 *   check-release.ts --tag v0.1.0 [--folder dist] [--notes FILE]
 *
 * `--folder` also checks the files that `npm run package` made, `--notes` writes the text of the changelog for the page of the
 * release.
 */

const { values } = parseArgs({
  options: {
    tag: { type: 'string' },
    folder: { type: 'string' },
    notes: { type: 'string' },
  },
});
if (values.tag === undefined) throw new Error('--tag is required, for example --tag v0.1.0');
const { version } = packageJson;
const problems = [
  ...sourceProblems(ROOT, values.tag),
  ...(values.folder === undefined ? [] : folderProblems(values.folder, version)),
];
for (const problem of problems) console.error(`check-release: ${problem}`);
if (problems.length > 0) process.exit(1);
if (values.notes !== undefined) {
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  writeFileSync(values.notes, `${releaseNotes(changelog, version)}\n`);
}
console.log(`${values.tag} may be released.`);
