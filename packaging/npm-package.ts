import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import packageJson from '../package.json';
import { bundleProgram, ROOT } from './bundle.ts';
import { commitOf, versionOf } from './commit.ts';
import { run } from './run.ts';

/**
 * Makes the package for npm: the files that `package.json` names, with a bundle in place of the sources. The bundle starts in
 * two thirds of the CPU time, and has all packages inside but Bun.
 */
export async function packNpm(out: string): Promise<readonly string[]> {
  const work = mkdtempSync(join(tmpdir(), 'fanfare-package-'));
  // npm cannot pack without a cache, and the home of the caller need not be writable.
  const npmPack = ['npm', 'pack', '--json', `--cache=${join(work, 'cache')}`];
  const folder = join(work, 'package');
  try {
    const [listed] = JSON.parse(run([...npmPack, '--dry-run'], { cwd: ROOT }));
    for (const { path } of listed.files) {
      if (path.startsWith('src/')) continue;
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      cpSync(join(ROOT, path), join(folder, path));
    }
    await bundleProgram(join(folder, 'bundle'));
    const { scripts: _, devDependencies: __, files: ___, ...published } = packageJson;
    const { bun } = packageJson.dependencies;
    const manifest = {
      ...published,
      version: versionOf(ROOT),
      dependencies: { bun },
      gitHead: commitOf(ROOT),
    };
    await Bun.write(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
    // npm keeps the modes, and those of a clone depend on its owner.
    run(['chmod', '-R', 'u=rwX,go=rX', folder], { cwd: folder });
    const [packed] = JSON.parse(run([...npmPack, '--pack-destination', out], { cwd: folder }));
    return [join(out, packed.filename)];
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
