import { join } from 'node:path';
import { checkLibraries, must } from './program.ts';

/** The libraries of Pusher for Python, and Pysher, as PyPI has them. */

await checkLibraries({
  name: 'Python',
  folder: 'python',
  version: ['python3', '--version'],
  pins: 'requirements.txt',
  pinned: (name, pins) => {
    const version = new RegExp(`^${name}==(.+)$`, 'm').exec(pins)?.[1];
    return version === undefined ? undefined : { name, version };
  },
  async install({ source, folder }) {
    const environment = join(folder, 'environment');
    const python = join(environment, 'bin/python');
    await must(['python3', '-m', 'venv', environment], source);
    await must(
      [python, '-m', 'pip', 'install', '--quiet', '--requirement', 'requirements.txt'],
      source,
    );
    return [python, '-B', 'main.py'];
  },
});
