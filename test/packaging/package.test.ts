import { expect, it } from 'bun:test';
import { join } from 'node:path';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const PACKAGE = join(import.meta.dir, '../../packaging/package.ts');

it.each([
  [
    'image',
    'buildah is not installed. On Debian: apt-get install buildah; elsewhere leave this part out with --only',
  ],
  [
    'deb',
    'dpkg-deb is not installed. On Debian: apt-get install dpkg; elsewhere leave this part out with --only',
  ],
  ['npm,rpm', '--only takes npm, binary, deb, image, chart, sbom, sdk, not "rpm"'],
])('packing ends with one line if it cannot make a part: %s', (only, reason) => {
  using directory = temporaryDirectory();
  const { exitCode, stderr } = Bun.spawnSync(
    [process.execPath, PACKAGE, '--only', only, '--out', directory.path],
    // A machine without any program.
    { env: { ...process.env, PATH: directory.path } },
  );
  expect([exitCode, stderr.toString()]).toEqual([1, `package: ${reason}\n`]);
});
