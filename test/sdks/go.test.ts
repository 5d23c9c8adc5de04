import { join } from 'node:path';
import { checkLibraries, must } from './program.ts';

/** The library of Pusher Channels for Go, as the module proxy has it. */

await checkLibraries({
  name: 'Go',
  folder: 'go',
  version: ['go', 'version'],
  pins: 'go.mod',
  pinned: (library, pins) => new RegExp(`\\b${RegExp.escape(library)}\\S* v(\\S+)`).exec(pins)?.[1],
  async install({ source, folder }) {
    const program = join(folder, 'program');
    await must(['go', 'build', '-o', program, '.'], source);
    return [program];
  },
});
