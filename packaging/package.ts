import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../package.json';
import { commitOf } from './commit.ts';
import { run } from './run.ts';

/*
 * `npm run package`: makes what is shipped, in `dist`. `--only npm` makes some of it, `--out FOLDER` replaces `dist`.
 */

const ROOT = join(import.meta.dir, '..');

const PARTS: Readonly<Record<string, (out: string) => Promise<readonly string[]>>> = {
  npm: packNpm,
};

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(PARTS).join(',') },
    out: { type: 'string', default: join(ROOT, 'dist') },
  },
});
const out = resolve(values.out);
mkdirSync(out, { recursive: true });
for (const name of values.only.split(',')) {
  const make = PARTS[name];
  if (make === undefined) {
    throw new Error(`--only takes ${Object.keys(PARTS).join(', ')}, not "${name}"`);
  }
  for (const file of await make(out)) console.log(file);
}

/** The package for npm: the files that `package.json` names, and the commit for `fanfare --version`. */
async function packNpm(out: string): Promise<readonly string[]> {
  const [listed] = JSON.parse(run(['npm', 'pack', '--dry-run', '--json'], ROOT));
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-package-'));
  try {
    for (const { path } of listed.files) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      cpSync(join(ROOT, path), join(folder, path));
    }
    const { private: _, scripts: __, devDependencies: ___, ...published } = packageJson;
    const withCommit = { ...published, gitHead: commitOf(ROOT) };
    await Bun.write(join(folder, 'package.json'), `${JSON.stringify(withCommit, undefined, 2)}\n`);
    const [packed] = JSON.parse(run(['npm', 'pack', '--json', '--pack-destination', out], folder));
    return [join(out, packed.filename)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
