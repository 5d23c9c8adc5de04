import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { bundleDashboard } from '../src/node/background/dashboard/bundle.ts';
import { PREFIX_MARK, packed } from '../src/node/background/dashboard/packed.ts';
import { commitOf } from './commit.ts';

/** The repository. */
export const ROOT = join(import.meta.dir, '..');

const SRC = join(ROOT, 'src');
const WORKERS = ['node/background/worker', 'node/realtime/worker', 'observability/write-log'];

export const TARGETS = ['linux-x64', 'linux-arm64', 'linux-x64-musl', 'darwin-arm64'] as const;

export type Target = (typeof TARGETS)[number];

/** How a module names the worker beside it. In the binary, all modules lie in one folder, and workers below it. */
const WORKER_URL = /new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g;

/**
 * Makes the binary of a target in a folder, and returns its path. It has the same bytes for the same commit in any folder,
 * unless `node_modules` is a link.
 */
export async function buildBinary(target: Target, folder: string): Promise<string> {
  const name = `fanfare-${target}`;
  mkdirSync(folder, { recursive: true });
  const dashboard = packed(await bundleDashboard(PREFIX_MARK));
  const commit = commitOf(ROOT);
  await Bun.build({
    // The first one is the program.
    entrypoints: ['standalone', ...WORKERS].map((entry) => join(SRC, `${entry}.ts`)),
    root: SRC,
    target: 'bun',
    format: 'esm',
    minify: true,
    bytecode: true,
    sourcemap: 'linked',
    env: 'disable',
    define: { BUILD_COMMIT: JSON.stringify(commit ?? 'unknown') },
    compile: {
      target: `bun-${target}`,
      outfile: join(folder, name),
      // Nothing of the working directory but the configuration.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
    plugins: [
      {
        name: 'what lies elsewhere in the binary',
        setup(build) {
          build.onLoad({ filter: /-thread\.ts$/ }, async ({ path }) => {
            const beside = relative(SRC, dirname(path));
            const text = await Bun.file(path).text();
            const contents = text.replaceAll(WORKER_URL, (_, worker: string) =>
              JSON.stringify(`./${join(beside, worker)}.ts`),
            );
            return { contents, loader: 'ts' };
          });
          build.onLoad({ filter: /\/background\/dashboard\/bundle\.ts$/ }, () => ({
            contents: `
              import { unpacked } from './packed.ts';
              const dashboard = ${JSON.stringify(dashboard)};
              export const bundleDashboard = async (pathPrefix) => unpacked(dashboard, pathPrefix);`,
            loader: 'ts',
          }));
        },
      },
    ],
  });
  // The binary has them inside.
  for (const file of readdirSync(folder)) if (file.endsWith('.map')) rmSync(join(folder, file));
  return join(folder, name);
}
