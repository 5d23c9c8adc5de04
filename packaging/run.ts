import { spawnSync } from 'node:child_process';

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
  if (error !== undefined)
    throw new Error(`${program} cannot be run (${error.message})${hint(program)}`);
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}

const PACKAGES: Readonly<Record<string, string>> = { 'dpkg-deb': 'dpkg', buildah: 'buildah' };

function hint(program: string): string {
  const name = PACKAGES[program];
  return name === undefined
    ? ''
    : `. On Debian: apt-get install ${name}; elsewhere leave it out with --only`;
}
