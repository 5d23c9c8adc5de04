import { spawnSync } from 'node:child_process';

/** Something cannot be made, for a reason that who asked can mend. The message says it all. */
export class CannotMake extends Error {}

/** Runs a program to its end and returns what it prints. Throws with its errors if it fails. */
export function run(
  [program = '', ...args]: readonly string[],
  {
    cwd,
    environment = {},
  }: { readonly cwd: string; readonly environment?: Readonly<Record<string, string>> },
): string {
  const env = { ...process.env, ...environment };
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env,
    encoding: 'utf8',
  });
  if (error !== undefined) throw new CannotMake(`${program} cannot be run (${error.message})`);
  if (status !== 0) {
    const end = status === null ? 'was killed' : `ended with ${status}`;
    throw new CannotMake(`${program} ${args.join(' ')} ${end}: ${stderr.trim()}`);
  }
  return stdout;
}

/** Throws if a program is not there, before anything is made for it. `name` is its package in Debian. */
export function requireProgram(program: string, name: string): void {
  if (Bun.which(program) !== null) return;
  throw new CannotMake(
    `${program} is not installed. On Debian: apt-get install ${name}; elsewhere leave this part out with --only`,
  );
}
