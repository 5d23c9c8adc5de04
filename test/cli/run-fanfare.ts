import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outputTo } from '../../src/cli/output.ts';
import { run } from '../../src/cli/run.ts';
import { COMMAND_IN_HINTS, commandOf } from '../../testing/servers/fanfare.ts';

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A directory that is removed at the end of the test. */
export function temporaryDirectory(files: Readonly<Record<string, string>> = {}): Disposable & {
  readonly path: string;
} {
  const path = mkdtempSync(join(tmpdir(), 'fanfare-cli-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Port 0 lets the system choose a free port. */
export const FREE_PORTS = {
  FANFARE_CHANNELS_PORT: '0',
  FANFARE_ADMIN_PORT: '0',
  FANFARE_PUSH_PORT: '0',
  FANFARE_DRAIN_SECONDS: '0',
} as const;

/** The command that was started last. Working directory and environment belong to the process, so one runs at a time. */
let last: Promise<unknown> = Promise.resolve();

/** Runs a command in this process, with a working directory and an environment of its own. */
export function fanfare(
  directory: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const ended = last.then(() => runHere(directory, args, environment));
  last = ended.catch(() => undefined);
  return ended;
}

async function runHere(
  directory: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  const before = { directory: process.cwd(), environment: process.env };
  let stdout = '';
  let stderr = '';
  const output = outputTo(
    (text) => (stdout += text),
    (text) => (stderr += text),
  );
  process.chdir(directory);
  process.env = { ...before.environment, ...environment };
  try {
    const exitCode = await run(args, output);
    return { exitCode, stdout, stderr };
  } finally {
    process.chdir(before.directory);
    process.env = before.environment;
  }
}

/** Runs a command in a process of its own, to its end. */
export async function fanfareProcess(
  directory: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = Bun.spawn([...commandOf(), ...args], {
    cwd: directory,
    env: { ...process.env, ...COMMAND_IN_HINTS, ...environment },
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
