import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const SUMS_FILE = 'SHA256SUMS';

/** Writes the sums of everything that is shipped from a folder, as `sha256sum` does. */
export function writeSums(folder: string): void {
  const shipped = readdirSync(folder)
    .filter((name) => /\.(?:tgz|cdx\.json|tar|tar\.gz|deb|sh)$/.test(name))
    .sort();
  const lines = shipped.map((name) => {
    const sum = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    return `${sum}  ${name}\n`;
  });
  writeFileSync(join(folder, SUMS_FILE), lines.join(''));
}
