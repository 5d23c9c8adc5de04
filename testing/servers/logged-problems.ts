import type { Fanfare } from './fanfare.ts';

/** The errors and warnings that a server has logged, without those of a start that takes long on a busy machine. */
export function loggedProblems({ output }: Pick<Fanfare, 'output'>): readonly string[] {
  return output.stderr
    .split('\n')
    .filter((line) => /"level":"(error|warn)"/.test(line) && !line.includes('is still starting'));
}
