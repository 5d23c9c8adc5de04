import { spawnSync } from 'node:child_process';

/** Runs a program and returns what it prints. Throws with its words if it fails. */
export function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return stdout;
  const words = error?.message ?? stderr.trim();
  throw new Error(`${program} ${args.join(' ')}: ${words}`, { cause: error });
}
