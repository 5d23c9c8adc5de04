import { closeSync, existsSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SQL } from 'bun';
import { messageOf } from '../../runtime/error-code.ts';
import type { DatabaseBackend } from './backend.ts';
import { StoreUnavailable } from './faults.ts';
import { currentMounts, networkNote } from './file-system.ts';
import type { Begin } from './write-queue.ts';

/** Milliseconds that a statement waits for another process that writes, for example a command. */
export const BUSY_TIMEOUT_MS = 5000;

/** The wait of a running server: a waiting statement blocks its event loop, and failed writes are repeated. */
const BUSY_TIMEOUT_RUNNING_MS = 250;

/** Pages of the write-ahead log before a checkpoint: about 16 MB. */
const CHECKPOINT_PAGES = 4000;

/**
 * Opens `file`, an absolute path or `:memory:`. Uses a second connection for reads, which sees only committed data.
 */
export async function openSqlite(url: string, file: string): Promise<DatabaseBackend> {
  const inMemory = file === ':memory:';
  if (!inMemory) {
    requireOneName(url, file);
    makeFile(file);
  }
  const filename = filenameFor(file);
  const writer = new SQL({ adapter: 'sqlite', filename, create: true });
  if (!inMemory) await requireSameFile(writer, url, file);
  await writer.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  await requireLog(writer, url);
  // Commits must survive a power cut, not only a crash.
  await writer.unsafe('PRAGMA synchronous = FULL');
  await writer.unsafe('PRAGMA foreign_keys = ON');
  await writer.unsafe(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  await writer.unsafe('PRAGMA cache_size = -65536');
  const reader = inMemory ? writer : new SQL({ adapter: 'sqlite', filename, readonly: true });
  if (!inMemory) {
    await reader.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    await reader.unsafe('PRAGMA cache_size = -65536');
  }
  // Immediate: otherwise another process could change what this transaction has read, before it writes.
  const begin: Begin = (work) => writer.begin('immediate', work);
  const opened = inMemory ? undefined : fileIdentity(file);
  return {
    dialect: 'sqlite',
    pooler: undefined,
    diskNote: inMemory ? '' : networkNote(file),
    read: reader,
    begin,
    beginUnhurried: begin,
    commitsAtOnce: 1,
    check: () => quickCheck(writer, url),
    identity: async () => undefined,
    useTls: () => undefined,
    useUrl: () => undefined,
    async waitBriefly() {
      await writer.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_RUNNING_MS}`);
      if (reader !== writer)
        await reader.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_RUNNING_MS}`);
    },
    async lost() {
      if (inMemory || fileIdentity(file) === opened) return undefined;
      // Without the file's name, because devices see this text.
      return "the store's file was removed or replaced while the server was running";
    },
    async close() {
      if (reader !== writer) await reader.close();
      await writer.close();
    },
  };
}

/** A file name for Bun. In a plain path, Bun would parse parameters after a question mark, and SQLite a scheme. */
export function filenameFor(file: string): string {
  return file === ':memory:' ? file : pathToFileURL(file).href;
}

/** Turns on the write-ahead log. SQLite keeps another journal, and says so, where it cannot share memory. */
async function requireLog(sql: SQL, url: string): Promise<void> {
  const rows: { journal_mode: string }[] = await sql.unsafe('PRAGMA journal_mode = WAL');
  const mode = rows[0]?.journal_mode ?? '';
  if (['wal', 'memory'].includes(mode)) return;
  await sql.close();
  throw new StoreUnavailable(
    `The store ${url} cannot be opened: its file system allows no write-ahead log (SQLite keeps the journal mode ${mode})`,
  );
}

/** Throws if SQLite has opened another file than the one that is locked and checked. */
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
 * Throws if a file has several names. SQLite's `-wal` file and our lock file are next to the name that a program
 * uses, so programs with different names would not see each other's, and would damage the store.
 */
export function requireOneName(url: string, name: string): void {
  // Symbolic links are fine: SQLite and we follow them.
  const file = existsSync(name) ? realpathSync(name) : undefined;
  if (file === undefined) return;
  const found = statSync(file);
  if (!found.isFile()) throw new StoreUnavailable(`The store ${url} is not a file: ${file}`);
  if (found.nlink > 1) {
    throw new StoreUnavailable(
      `The store ${url} has several names (hard links): servers that use it by different names would damage it. Keep one name of ${file}`,
    );
  }
  if (currentMounts().some(({ point }) => point === file)) {
    throw new StoreUnavailable(
      `The store ${url} is a single mounted file, without the files that SQLite keeps beside it. Mount its directory instead of ${file}`,
    );
  }
}

/** Creates a missing file, readable by its owner only, because it will hold secrets. */
export function makeFile(filename: string): void {
  mkdirSync(dirname(filename), { recursive: true, mode: 0o700 });
  // An existing file must not be opened and closed here: that would end the locks that this process has on it.
  if (!existsSync(filename)) closeSync(openSync(filename, 'a', 0o600));
}

/** Identifies a file independently of its name; empty if it does not exist. */
export function fileIdentity(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}`;
}

/** Reads all of the store, and throws if it is damaged, so that this is found at the start. */
async function quickCheck(sql: SQL, url: string): Promise<void> {
  let found: string | undefined;
  try {
    const rows: { quick_check: string }[] = await sql.unsafe('PRAGMA quick_check(1)');
    found = rows[0]?.quick_check;
  } catch (error) {
    found = messageOf(error);
  }
  if (found === 'ok') return;
  const [why = ''] = (found ?? '').split('\n').slice(-1);
  throw new StoreUnavailable(`The store ${url} is damaged, restore it from a backup: ${why}`);
}
