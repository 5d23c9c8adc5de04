import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packBinaries } from './binary-archives.ts';
import { ROOT } from './bundle.ts';
import { packChart } from './chart.ts';
import { packImages } from './container-image.ts';
import { packDebian } from './debian-package.ts';
import { packNpm } from './npm-package.ts';
import { CannotMake } from './run.ts';
import { packSbom } from './sbom.ts';
import { packSdk } from './sdk-package.ts';
import { writeSums } from './sums.ts';

/*
 * `npm run package`: makes what is shipped, in `dist`, with the sums of all of it. `--only npm,binary` makes some of it,
 * `--out FOLDER` replaces `dist`.
 */

const PARTS: Readonly<Record<string, (out: string) => Promise<readonly string[]>>> = {
  npm: packNpm,
  binary: packBinaries,
  deb: packDebian,
  image: packImages,
  chart: packChart,
  sbom: packSbom,
  sdk: packSdk,
};

// The modes of files are part of what is made.
process.umask(0o022);

async function pack(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: Object.keys(PARTS).join(',') },
      out: { type: 'string', default: join(ROOT, 'dist') },
    },
  });
  const makers = values.only.split(',').map((name) => {
    const make = PARTS[name];
    if (make !== undefined) return make;
    throw new CannotMake(`--only takes ${Object.keys(PARTS).join(', ')}, not "${name}"`);
  });
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  for (const make of makers) for (const file of await make(out)) console.log(file);
  writeSums(out);
}

try {
  await pack();
} catch (error) {
  if (!(error instanceof CannotMake)) throw error;
  console.error(`package: ${error.message}`);
  process.exitCode = 1;
}
