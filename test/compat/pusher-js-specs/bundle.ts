import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { BunPlugin } from 'bun';
import { modulesOf, type SpecPlace } from './fanfare-js.ts';

/** The folder of the package as it comes from npm. */
const PACKAGE = realpathSync(join(import.meta.dir, '../../../node_modules/pusher-js'));

/** In the order in which they are tried. Bun prefers JavaScript in packages. */
const ENDINGS = ['.ts', '.js', '/index.js'];

/** What the specs test: pusher-js itself, or its successor in its place. */
export type SpecClient = 'fanfare-js' | 'pusher-js';

/** Where modules without `./` are looked for in a place, as in `webpack/` and `spec/config/` of the package. */
const rootsOf = (place: SpecPlace) =>
  [
    `src/runtimes/${place}`,
    'src',
    'src/runtimes',
    `spec/javascripts/helpers/${place}`,
    'spec/javascripts/helpers',
  ].map((folder) => join(PACKAGE, folder));

const SRC = join(PACKAGE, 'src');

/** Does for these specs what webpack does. */
function asWebpack(place: SpecPlace, client: SpecClient): BunPlugin {
  const modules = client === 'fanfare-js' ? modulesOf(place) : {};
  const roots = rootsOf(place);
  return {
    name: 'as webpack',
    setup(build) {
      build.onResolve({ filter: /^[a-z.]/ }, ({ path, importer }) => {
        if (path === 'testenv') return { path, namespace: 'testenv' };
        const original = path.startsWith('original/') && path.slice('original/'.length);
        const within = path.startsWith('.') ? [dirname(importer)] : roots;
        // There is no page in Node.
        const hasNoPage = place === 'node' && path.startsWith('dom/');
        const name = hasNoPage ? 'mock-dom-dependencies' : original || path;
        const files = within.flatMap((root) => ENDINGS.map((ending) => join(root, name + ending)));
        const file = files.find(existsSync);
        if (file === undefined) return undefined;
        const module = relative(SRC, file).replace(/\.ts$/, '');
        if (original !== false || modules[module] === undefined) return { path: file };
        return { path: module, namespace: 'client' };
      });
      build.onLoad({ filter: /.*/, namespace: 'client' }, ({ path }) => ({
        contents: modules[path] ?? '',
        loader: 'ts',
      }));
      build.onLoad({ filter: /.*/, namespace: 'testenv' }, () => ({
        contents: `module.exports = '${place}';`,
        loader: 'js',
      }));
      build.onLoad({ filter: /(?:integration|unit)\/index\.\w+\.js$/ }, async ({ path }) => ({
        contents: withContexts(await Bun.file(path).text(), join(path, '..')),
        loader: 'js',
      }));
    },
  };
}

/** Writes out `require.context(folder, true, /_spec$/)`, which only webpack knows. */
function withContexts(source: string, folder: string): string {
  return source.replaceAll(
    /require\.context\("(.*?)", true, \/_spec\$\/\)/g,
    (_, within: string) => {
      const specs = readdirSync(join(folder, within), { recursive: true, encoding: 'utf8' })
        .map((file) => file.replace(/(\/index)?\.js$/, ''))
        .filter((name) => name.endsWith('_spec'))
        .filter((name, index, all) => all.indexOf(name) === index)
        .toSorted()
        .map((name) => `./${relative(folder, join(folder, within, name))}`);
      const modules = specs.map((spec) => `${JSON.stringify(spec)}: () => require('${spec}')`);
      return `((all) => Object.assign((key) => all[key](), { keys: () => Object.keys(all) }))({${modules}})`;
    },
  );
}

/** The unit specs of what is part of the API: how events are emitted, and channels. */
const UNITS = [
  'events_dispatcher',
  ...['channel', 'private_channel', 'presence_channel', 'encrypted_channel'].map(
    (name) => `channels/${name}`,
  ),
].map((name) => `unit/core/${name}_spec.js`);

/** The script with all specs of one of the package's entries, or with the unit specs. The specs are unchanged. */
export async function bundleSpecs(
  entry: string,
  { place, client }: { readonly place: SpecPlace; readonly client: SpecClient },
): Promise<string> {
  const { outputs } = await Bun.build({
    // A module of CommonJS that is the entry itself would never be called.
    entrypoints: ['/entry.js'],
    files: {
      '/entry.js': (entry === 'units' ? UNITS : [entry])
        .map((file) => `import ${JSON.stringify(`${PACKAGE}/spec/javascripts/${file}`)};`)
        .join('\n'),
    },
    target: place === 'web' ? 'browser' : 'node',
    format: place === 'web' ? 'iife' : 'cjs',
    plugins: [asWebpack(place, client)],
    define: {
      VERSION: '"0.0.0"',
      CDN_HTTP: '"http://js.pusher.com"',
      CDN_HTTPS: '"https://js.pusher.com"',
      DEPENDENCY_SUFFIX: '""',
      RUNTIME: JSON.stringify(place),
      ...(place === 'web' && { global: 'window' }),
      'process.env.MINIMAL_INTEGRATION_TESTS': 'undefined',
    },
  });
  const [script] = outputs;
  if (script === undefined) throw new Error('Bun made no bundle of the specs');
  return await script.text();
}
