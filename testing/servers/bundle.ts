import { dirname, join, relative, resolve } from 'node:path';

/**
 * Bundles the server into a folder: `main.js`, and one file for each worker. `npm test` does it once for all servers
 * of a run. Without it each of them reads and compiles 600 modules, which is a third of the CPU time of its start.
 */

const SRC = resolve(import.meta.dir, '../../src');
const WORKERS = ['node/background/worker', 'node/realtime/worker', 'observability/write-log'];

/** How a module names the worker beside it. In the bundle the worker lies elsewhere, seen from there. */
const WORKER_URL = /new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g;

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Usage: bundle.ts FOLDER');
const outdir = resolve(folder);

await Bun.build({
  entrypoints: ['main', ...WORKERS].map((name) => join(SRC, `${name}.ts`)),
  root: SRC,
  outdir,
  target: 'bun',
  splitting: true,
  plugins: [
    {
      name: 'worker URLs',
      setup(build) {
        build.onLoad({ filter: /-thread\.ts$/ }, async ({ path }) => {
          const beside = join(outdir, relative(SRC, dirname(path)));
          const text = await Bun.file(path).text();
          const contents = text.replaceAll(WORKER_URL, (_, name: string) =>
            JSON.stringify(join(beside, `${name}.js`)),
          );
          return { contents, loader: 'ts' };
        });
        // The dashboard is bundled from its sources when a browser asks for it.
        build.onLoad({ filter: /\/dashboard\/page-file\.ts$/ }, () => ({
          contents: `export const PAGE_FILE = ${JSON.stringify(join(SRC, 'dashboard/index.html'))};`,
          loader: 'ts',
        }));
      },
    },
  ],
});
