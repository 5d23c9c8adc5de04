import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildBinary, TARGETS } from './binary.ts';
import { ROOT } from './bundle.ts';

/*
 * `npm run build`: makes `dist/fanfare-linux-x64`, one file that needs nothing else of the repository. `--target linux-arm64`
 * makes another one: npm then downloads the Bun of that platform. `--out FOLDER` replaces `dist`.
 */

// The modes of files are part of what is made.
process.umask(0o022);

const { values } = parseArgs({
  options: {
    target: { type: 'string', default: 'linux-x64' },
    out: { type: 'string', default: join(ROOT, 'dist') },
  },
});
const target = TARGETS.find((name) => name === values.target);
if (target === undefined) {
  throw new Error(`--target must be one of ${TARGETS.join(', ')}, not "${values.target}"`);
}
console.log(await buildBinary(target, resolve(values.out)));
