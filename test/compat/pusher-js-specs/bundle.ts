import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { BunPlugin } from 'bun';

/** The folder of the package as it comes from npm. */
const PACKAGE = realpathSync(join(import.meta.dir, '../../../node_modules/pusher-js'));

/** Where modules without `./` are looked for, as in `webpack/` and `spec/config/karma/` of the package. */
const ROOTS = [
  'src/runtimes/web',
  'src',
  'src/runtimes',
  'spec/javascripts/helpers/web',
  'spec/javascripts/helpers',
].map((folder) => join(PACKAGE, folder));

/** In the order in which they are tried. Bun prefers JavaScript in packages. */
const ENDINGS = ['.ts', '.js', '/index.js'];

/** Does for these specs what webpack does. */
const asWebpack: BunPlugin = {
  name: 'as webpack',
  setup(build) {
    build.onResolve({ filter: /^[a-z.]/ }, ({ path, importer }) => {
      if (path === 'testenv') return { path, namespace: 'testenv' };
      const roots = path.startsWith('.') ? [dirname(importer)] : ROOTS;
      const files = roots.flatMap((root) => ENDINGS.map((ending) => join(root, path + ending)));
      const file = files.find(existsSync);
      return file === undefined ? undefined : { path: file };
    });
    build.onLoad({ filter: /.*/, namespace: 'testenv' }, () => ({
      contents: `module.exports = 'web';`,
      loader: 'js',
    }));
    build.onLoad({ filter: /integration\/index\.web\.js$/ }, async ({ path }) => ({
      contents: withContexts(await Bun.file(path).text(), join(path, '..')),
      loader: 'js',
    }));
  },
};

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

/** The script with all integration specs that pusher-js runs in browsers. The specs are unchanged. */
export async function bundleSpecs(): Promise<string> {
  const { outputs } = await Bun.build({
    // A module of CommonJS that is the entry itself would never be called.
    entrypoints: ['/entry.js'],
    files: {
      '/entry.js': `import ${JSON.stringify(`${PACKAGE}/spec/javascripts/integration/index.web.js`)};`,
    },
    target: 'browser',
    format: 'iife',
    plugins: [asWebpack],
    define: {
      VERSION: '"0.0.0"',
      CDN_HTTP: '"http://js.pusher.com"',
      CDN_HTTPS: '"https://js.pusher.com"',
      DEPENDENCY_SUFFIX: '""',
      RUNTIME: '"web"',
      global: 'window',
      'process.env.MINIMAL_INTEGRATION_TESTS': 'undefined',
    },
  });
  const [script] = outputs;
  if (script === undefined) throw new Error('Bun made no bundle of the specs');
  return await script.text();
}
