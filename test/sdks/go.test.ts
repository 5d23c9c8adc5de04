import { join } from 'node:path';
import { checkLibraries, must } from './program.ts';

/** The library of Pusher Channels for Go, as the module proxy has it. */

await checkLibraries({
  name: 'Go',
  folder: 'go',
  version: ['go', 'version'],
  pins: 'go.mod',
  pinned: (name, pins) => {
    const version = new RegExp(`\\b${RegExp.escape(name)}\\S* v(\\S+)`).exec(pins)?.[1];
    return version === undefined ? undefined : { name, version };
  },
  async install({ source, folder }) {
    const program = join(folder, 'program');
    await must(['go', 'build', '-o', program, '.'], source);
    return [program];
  },
});
