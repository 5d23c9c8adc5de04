import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A directory that goes when the test is over. */
export function temporaryDirectory(files: Readonly<Record<string, string>> = {}): Disposable & {
  readonly path: string;
} {
  const path = mkdtempSync(join(tmpdir(), 'fanfare-cli-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Free ports, so that no test stands in another's way. */
export const FREE_PORTS = {
  FANFARE_CHANNELS_PORT: '0',
  FANFARE_ADMIN_PORT: '0',
  FANFARE_PUSH_PORT: '0',
  FANFARE_DRAIN_SECONDS: '0',
} as const;

export const MAIN = join(import.meta.dir, '../../src/main.ts');

/** Runs a command line to its end, in a directory. */
export async function fanfare(
  directory: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = Bun.spawn([process.execPath, MAIN, ...args], {
    cwd: directory,
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}
