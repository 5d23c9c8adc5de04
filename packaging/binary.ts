import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withoutGap } from './bss-gap.ts';
import { bundleOptions, dashboardInside, SRC, WORKERS, workersAt } from './bundle.ts';

export const TARGETS = ['linux-x64', 'linux-arm64', 'linux-x64-musl', 'darwin-arm64'] as const;

export type Target = (typeof TARGETS)[number];

/**
 * Makes the binary of a target in a folder, and returns its path. It has the same bytes for the same commit in any folder,
 * unless `node_modules` is a link.
 */
export async function buildBinary(target: Target, folder: string): Promise<string> {
  const name = `fanfare-${target}`;
  mkdirSync(folder, { recursive: true });
  await Bun.build({
    ...bundleOptions(),
    // The first one is the program.
    entrypoints: ['standalone', ...WORKERS].map((entry) => join(SRC, `${entry}.ts`)),
    minify: true,
    // Code that threads share is included once: the file is 3 MB smaller, and the server needs 2 MB less memory.
    splitting: true,
    bytecode: true,
    sourcemap: 'linked',
    compile: {
      target: `bun-${target}`,
      outfile: join(folder, name),
      // The binary reads nothing in the working directory but the configuration.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
    plugins: [await dashboardInside(), workersAt((entry) => JSON.stringify(`./${entry}.ts`))],
  });
  // The source maps are inside the binary.
  for (const file of readdirSync(folder)) if (file.endsWith('.map')) rmSync(join(folder, file));
  const path = join(folder, name);
  if (target.startsWith('linux-')) writeFileSync(path, withoutGap(readFileSync(path)));
  return path;
}
