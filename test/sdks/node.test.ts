import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkLibraries, must } from './program.ts';

/** Older versions of the libraries of Pusher for JavaScript, as npm has them. The newest are in test/compat. */

await checkLibraries({
  name: 'Node',
  folder: 'node',
  version: ['node', '--version'],
  pins: 'package.json',
  pinned: (library, pins) => {
    const [, name, version] = /^npm:(.+)@(.+)$/.exec(JSON.parse(pins).dependencies[library]) ?? [];
    return name === undefined || version === undefined ? undefined : { name, version };
  },
  async install({ source, folder }) {
    copyFileSync(join(source, 'package.json'), join(folder, 'package.json'));
    await must(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
    return ['node', 'main.mjs', folder];
  },
});
