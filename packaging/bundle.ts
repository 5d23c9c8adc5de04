import { dirname, join, relative } from 'node:path';
import type { BunPlugin } from 'bun';
import { bundleDashboard } from '../src/node/background/dashboard/bundle.ts';
import { PREFIX_MARK, packed } from '../src/node/background/dashboard/packed.ts';
import { commitOf, versionOf } from './commit.ts';

/** The repository. */
export const ROOT = join(import.meta.dir, '..');

export const SRC = join(ROOT, 'src');

/** The modules that run in threads of their own. */
export const WORKERS = [
  'node/background/worker',
  'node/realtime/worker',
  'observability/write-log',
];

/** How a module names its worker. In a bundle, all modules are in one folder, and the workers are below it. */
const WORKER_URL = /new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g;

/** Options of every bundle: it holds its version and its commit, and no environment variables of the build. */
export function bundleOptions(): {
  readonly root: string;
  readonly target: 'bun';
  readonly format: 'esm';
  readonly env: 'disable';
  readonly define: Readonly<Record<string, string>>;
} {
  return {
    root: SRC,
    target: 'bun',
    format: 'esm',
    env: 'disable',
    define: {
      BUILD_VERSION: JSON.stringify(versionOf(ROOT)),
      // 12 digits, as git prints it on request.
      BUILD_COMMIT: JSON.stringify(commitOf(ROOT)?.replace(/^(.{12})[0-9a-f]*/, '$1') ?? 'unknown'),
    },
  };
}

/**
 * Bundles the server into a folder: `main.js`, its workers and the dashboard. Needs Bun and nothing else of the repository. The
 * names stay as they are in the sources, so that stack traces are readable.
 */
export async function bundleProgram(folder: string): Promise<Bun.BuildOutput> {
  return await Bun.build({
    ...bundleOptions(),
    entrypoints: ['main', ...WORKERS].map((entry) => join(SRC, `${entry}.ts`)),
    outdir: folder,
    splitting: true,
    minify: { whitespace: true, syntax: true, identifiers: false },
    metafile: true,
    plugins: [
      await dashboardInside(),
      workersAt((entry) => `new URL('./${entry}.js', import.meta.url)`),
    ],
  });
}

/** Makes each thread find its worker. `code` is the expression that names an entry of `WORKERS`. */
export function workersAt(code: (entry: string) => string): BunPlugin {
  return {
    name: 'workers',
    setup(build) {
      build.onLoad({ filter: /-thread\.ts$/ }, async ({ path }) => {
        const beside = relative(SRC, dirname(path));
        const text = await Bun.file(path).text();
        const contents = text.replaceAll(WORKER_URL, (_, worker: string) =>
          code(join(beside, worker)),
        );
        return { contents, loader: 'ts' };
      });
    },
  };
}

/** Puts the bundled dashboard into the server's bundle, so that the server need not bundle it from its sources. */
export async function dashboardInside(): Promise<BunPlugin> {
  const dashboard = packed(await bundleDashboard(PREFIX_MARK));
  return {
    name: 'dashboard',
    setup(build) {
      build.onLoad({ filter: /\/background\/dashboard\/bundle\.ts$/ }, () => ({
        contents: `
          import { unpacked } from './packed.ts';
          const dashboard = ${JSON.stringify(dashboard)};
          export const bundleDashboard = async (pathPrefix) => unpacked(dashboard, pathPrefix);`,
        loader: 'ts',
      }));
    },
  };
}
