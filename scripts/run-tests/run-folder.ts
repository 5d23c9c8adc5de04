import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { type Program, programs } from './programs.ts';

/** A file system in memory: PostgreSQL and SQLite need half the time there. */
const MEMORY = '/dev/shm';

/** What a run may take of it. */
const MEMORY_NEEDED_BYTES = 2_000_000 * 1024;

/** How long PostgreSQL may take to stop. Milliseconds. */
const STOP_MAX_MS = 3000;

/**
 * Makes the folder of this run, for the databases of tests and for whatever else they write. In memory if there is room.
 */
export function makeRunFolder(env: NodeJS.ProcessEnv): string {
  const inMemory = isWritableFolder(MEMORY) && freeBytes(MEMORY) > MEMORY_NEEDED_BYTES;
  const folder = mkdtempSync(join(inMemory ? MEMORY : env['TMPDIR'] || '/tmp', 'fanfare-tests-'));
  // PostgreSQL runs as a user of its own, and must reach its folder in here.
  chmodSync(folder, 0o711);
  return folder;
}

export function isWritableFolder(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Ends what tests have left running in the folder of this run, and removes it. */
export async function tidyUp(folder: string): Promise<void> {
  // PostgreSQL cleans up after itself: memory that is shared, and its socket.
  const stopping = [...new Glob('*postgres*/data/postmaster.pid').scanSync(folder)];
  const pidFiles = stopping.map((file) => join(folder, file));
  for (const file of pidFiles) signal(pidIn(file), 'SIGINT');
  signal(pidIn(join(folder, 'redis/pid')), 'SIGTERM');
  for (const { pid } of leftBehind(programs(), folder)) signal(pid, 'SIGKILL');

  const deadlineMs = performance.now() + STOP_MAX_MS;
  while (pidFiles.some(existsSync) && performance.now() < deadlineMs) await Bun.sleep(50);
  rmSync(folder, { recursive: true, force: true });
}

/** Servers and Firefox that were started with a configuration or a profile in the folder. */
export function leftBehind(running: readonly Program[], folder: string): readonly Program[] {
  const inFolder = new RegExp(` --(?:config|profile) ${RegExp.escape(folder)}/`);
  return running.filter(({ command }) => inFolder.test(command));
}

/** The number in the first line of a file; `undefined` without the file. */
function pidIn(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
    return Number.isInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Sends a signal to a process, which may have ended by itself. */
function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, name);
  } catch {
    // It has ended, or its number belongs to another user's process now.
  }
}
