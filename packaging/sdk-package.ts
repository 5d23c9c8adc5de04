import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BunPlugin } from 'bun';
import manifest from '../sdk/fanfare-js/package.json';
import { ROOT } from './bundle.ts';
import { commitOf, versionOf } from './commit.ts';
import { run } from './run.ts';

/** The package's own folder. */
const SDK = join(ROOT, 'sdk/fanfare-js');

/** Modules of the package, each a class, and what of them is made. */
const MODULES: Readonly<Record<string, readonly ('cjs' | 'esm' | 'script')[]>> = {
  browser: ['esm', 'cjs', 'script'],
  'with-encryption': ['esm', 'cjs', 'script'],
  lite: ['esm', 'cjs'],
  'lite-with-encryption': ['esm', 'cjs'],
  node: ['esm', 'cjs'],
  'react-native': ['esm'],
};

/** The names of scripts that set `window.Pusher`. */
const SCRIPTS: Readonly<Record<string, string>> = {
  browser: 'pusher.min.js',
  'with-encryption': 'pusher-with-encryption.min.js',
};

/** How a class declares a private member. */
const PRIVATE = /private (?:declare )?(?:readonly )?(?:async )?(\w+)/g;

/**
 * Shortens the names of private members, which minifiers keep because they cannot know who uses them. The compiler has checked that
 * only their own class does, as `this.name`.
 */
function shortPrivates(version: string): BunPlugin {
  let count = 0;
  return {
    name: 'short privates',
    setup(build) {
      build.onLoad({ filter: /fanfare-js\/package\.json$/ }, () => ({
        contents: `export const version = ${JSON.stringify(version)};`,
        loader: 'js',
      }));
      build.onLoad({ filter: /fanfare-js\/src\/.*\.ts$/ }, async ({ path }) => {
        let contents = await Bun.file(path).text();
        for (const [, name] of [...contents.matchAll(PRIVATE)]) {
          if (new RegExp(`(?:const|let) \\{[^{}]*\\b${name}\\b[^{}]*\\} = this;`).test(contents)) {
            throw new Error(
              `${path} takes the private ${name} out of its object: say this.${name}`,
            );
          }
          const use = new RegExp(
            `(\\bthis\\.|${PRIVATE.source.replace('(\\w+)', '')})${name}\\b`,
            'g',
          );
          contents = contents.replaceAll(use, `$1_${(count++).toString(36)}`);
        }
        return { contents, loader: 'ts' };
      });
    },
  };
}

/** Makes the modules and scripts of the package in `dist` of a folder. */
export async function bundleSdk(folder: string, version: string): Promise<void> {
  for (const [name, kinds] of Object.entries(MODULES)) {
    for (const kind of kinds) {
      const entry = join(SDK, `src/entries/${name}.ts`);
      const { outputs } = await Bun.build({
        entrypoints: kind === 'script' ? ['/script.js'] : [entry],
        files: {
          '/script.js': `import Pusher from ${JSON.stringify(entry)}; globalThis.Pusher = Pusher;`,
        },
        target: name === 'node' ? 'node' : 'browser',
        format: kind === 'script' ? 'iife' : kind,
        // A script and an application in one file bring the ciphers with them; others find them beside the package.
        external: kind === 'script' ? [] : ['@noble/ciphers', 'ws', 'react-native'],
        minify: true,
        plugins: [shortPrivates(version)],
      });
      const [output] = outputs;
      if (output === undefined) throw new Error(`Bun made no bundle of ${name}`);
      const text = await output.text();
      const file =
        kind === 'script' ? `web/${SCRIPTS[name]}` : `${name}.${kind === 'cjs' ? 'cjs' : 'js'}`;
      // `require` gives the class itself.
      const end =
        kind === 'cjs'
          ? 'module.exports=module.exports.default;module.exports.default=module.exports;\n'
          : '';
      await Bun.write(join(folder, 'dist', file), text + end);
    }
  }
}

/** Writes the declarations that belong to the sources. */
function declareTypes(folder: string, work: string): void {
  const config = join(work, 'tsconfig.json');
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        rootDir: join(ROOT, 'sdk'),
        outDir: join(folder, 'types'),
        typeRoots: [join(ROOT, 'node_modules')],
      },
      include: [],
      files: ['foreign.d.ts', ...Object.keys(MODULES).map((name) => `src/entries/${name}.ts`)].map(
        (file) => join(SDK, file),
      ),
    }),
  );
  run([join(ROOT, 'node_modules/.bin/tsc'), '--project', config], { cwd: ROOT });
  cpSync(join(ROOT, 'sdk/resume/places.d.ts'), join(folder, 'types/resume/places.d.ts'));
}

/** Makes the package `fanfare-js` for npm. */
export async function packSdk(out: string): Promise<readonly string[]> {
  const work = mkdtempSync(join(tmpdir(), 'fanfare-sdk-'));
  const folder = join(work, 'package');
  try {
    mkdirSync(folder);
    const version = versionOf(ROOT);
    await bundleSdk(folder, version);
    declareTypes(folder, work);
    for (const file of ['README.md', 'LICENSE']) cpSync(join(SDK, file), join(folder, file));
    const published = { ...manifest, version, gitHead: commitOf(ROOT) };
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
    run(['chmod', '-R', 'u=rwX,go=rX', folder], { cwd: folder });
    const pack = ['npm', 'pack', '--json', `--cache=${join(work, 'cache')}`];
    const [packed] = JSON.parse(run([...pack, '--pack-destination', out], { cwd: folder }));
    return [join(out, packed.filename)];
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
