import { spawnSync } from 'node:child_process';

/** Runs a program to its end and gives what it prints. Throws with its errors if it fails. */
export function run(
  [program = '', ...args]: readonly string[],
  { cwd }: { readonly cwd: string },
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (error !== undefined) throw new Error(`${program} cannot be run: ${error.message}`);
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}
