import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import packageJson from '../package.json';
import { ROOT } from './binary.ts';
import { commitOf } from './commit.ts';
import { run } from './run.ts';

/** Makes the package for npm: the files that `package.json` names, with the commit for `fanfare --version`. */
export async function packNpm(out: string): Promise<readonly string[]> {
  const [listed] = JSON.parse(run(['npm', 'pack', '--dry-run', '--json'], { cwd: ROOT }));
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-package-'));
  try {
    for (const { path } of listed.files) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      cpSync(join(ROOT, path), join(folder, path));
    }
    const { private: _, scripts: __, devDependencies: ___, ...published } = packageJson;
    const withCommit = { ...published, gitHead: commitOf(ROOT) };
    await Bun.write(join(folder, 'package.json'), `${JSON.stringify(withCommit, undefined, 2)}\n`);
    const pack = ['npm', 'pack', '--json', '--pack-destination', out];
    const [packed] = JSON.parse(run(pack, { cwd: folder }));
    return [join(out, packed.filename)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
