import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SQL } from 'bun';
import type { Backend } from './backend.ts';
import { StoreUnavailable } from './faults.ts';
import type { Begin } from './write-queue.ts';

/** Milliseconds that a statement waits for another process, such as the command line, to finish writing. */
export const BUSY_TIMEOUT_MS = 5000;

/**
 * The same for a server that runs: statements wait where everything else of its loop waits too, and what
 * cannot be written now is written later.
 */
const BUSY_TIMEOUT_RUNNING_MS = 250;

/** Pages of the write-ahead log after which it is carried over into the file: about 16 MB, in one go. */
const CHECKPOINT_PAGES = 4000;

/**
 * Opens `file`, a whole path or `:memory:`; two connections, so that who reads sees nothing that is not committed yet.
 */
export async function openSqlite(url: string, file: string): Promise<Backend> {
  const inMemory = file === ':memory:';
  if (!inMemory) {
    requireOneName(url, file);
    makeFile(file);
  }
  const filename = filenameFor(file);
  const writer = new SQL({ adapter: 'sqlite', filename, create: true });
  if (!inMemory) await requireSameFile(writer, url, file);
  await writer.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  await writer.unsafe('PRAGMA journal_mode = WAL');
  // What was accepted must survive a power cut, not only a crash.
  await writer.unsafe('PRAGMA synchronous = FULL');
  await writer.unsafe('PRAGMA foreign_keys = ON');
  await writer.unsafe(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  await writer.unsafe('PRAGMA cache_size = -65536');
  const reader = inMemory ? writer : new SQL({ adapter: 'sqlite', filename, readonly: true });
  if (!inMemory) {
    await reader.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    await reader.unsafe('PRAGMA cache_size = -65536');
  }
  // Immediate: what a change reads first, nobody else may change before it writes.
  const begin: Begin = (work) => writer.begin('immediate', work);
  const opened = inMemory ? undefined : fileIdentity(file);
  return {
    dialect: 'sqlite',
    read: reader,
    begin,
    beginUnhurried: begin,
    commitsAtOnce: 1,
    check: () => quickCheck(writer, url),
    async waitBriefly() {
      await writer.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_RUNNING_MS}`);
      if (reader !== writer)
        await reader.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_RUNNING_MS}`);
    },
    async lost() {
      if (inMemory || fileIdentity(file) === opened) return undefined;
      // Without its name: devices hear of it, too.
      return "the store's file was removed or replaced while the server was running";
    },
    async close() {
      if (reader !== writer) await reader.close();
      await writer.close();
    },
  };
}

/**
 * A file as Bun must be given it. In a plain path, Bun would read what follows a question mark as settings, and
 * SQLite a scheme at its beginning.
 */
export function filenameFor(file: string): string {
  return file === ':memory:' ? file : pathToFileURL(file).href;
}

/** Throws where SQLite has opened another file than the one that is locked and watched. */
async function requireSameFile(sql: SQL, url: string, file: string): Promise<void> {
  const databases: { file: string }[] = await sql.unsafe('PRAGMA database_list');
  const opened = databases[0]?.file ?? '';
  if (fileIdentity(opened) === fileIdentity(file)) return;
  await sql.close();
  throw new StoreUnavailable(
    `The store ${url} cannot be opened: SQLite reads its name as ${JSON.stringify(opened)}. Give the file another name`,
  );
}

/**
 * Throws where a file is reached by several names. SQLite keeps the `-wal` file, and we the lock, beside the name that
 * a program uses: two programs with different names would each have their own, and damage the file.
 */
export function requireOneName(url: string, name: string): void {
  // Symbolic links do no harm: SQLite and we follow them.
  const file = existsSync(name) ? realpathSync(name) : undefined;
  if (file === undefined) return;
  const found = statSync(file);
  if (!found.isFile()) throw new StoreUnavailable(`The store ${url} is no file: ${file}`);
  if (found.nlink > 1) {
    throw new StoreUnavailable(
      `The store ${url} has several names (hard links): servers that use it by different names would damage it. Keep one name of ${file}`,
    );
  }
  if (isMountPoint(file)) {
    throw new StoreUnavailable(
      `The store ${url} is a file that was mounted alone: the files that SQLite keeps beside it would be left out. Mount its directory instead of ${file}`,
    );
  }
}

/** Whether something was mounted over this very path, such as a single file by `docker run -v`. */
function isMountPoint(path: string): boolean {
  let mounts: string;
  try {
    mounts = readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    // Only Linux has it, and only Linux mounts files.
    return false;
  }
  return mounts.split('\n').some((line) => {
    // Source: proc_pid_mountinfo(5), field (5); white space and backslashes stand there as octal numbers.
    const [, , , , point = ''] = line.split(' ');
    const code = (_: string, octal: string) => String.fromCharCode(Number.parseInt(octal, 8));
    return point.replace(/\\([0-7]{3})/g, code) === path;
  });
}

/** Makes an empty file where there is none, for its owner only: it will hold secrets. */
export function makeFile(filename: string): void {
  mkdirSync(dirname(filename), { recursive: true, mode: 0o700 });
  // One that is there is left alone: closing it here would end the locks of whoever else in this process has it.
  if (!existsSync(filename)) closeSync(openSync(filename, 'a', 0o600));
}

/** Tells one file from another that took its name; empty where there is none. */
export function fileIdentity(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}`;
}

/** Reads all of the store, and throws where it is damaged: a server must not find out one day later. */
async function quickCheck(sql: SQL, url: string): Promise<void> {
  let found: string | undefined;
  try {
    const rows: { quick_check: string }[] = await sql.unsafe('PRAGMA quick_check(1)');
    found = rows[0]?.quick_check;
  } catch (error) {
    found = error instanceof Error ? error.message : String(error);
  }
  if (found === 'ok') return;
  const [why = ''] = (found ?? '').split('\n').slice(-1);
  throw new StoreUnavailable(`The store ${url} is damaged, restore it from a backup: ${why}`);
}
