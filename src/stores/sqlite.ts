import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
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

/** Opens a file; two connections, so that who reads sees nothing that is not committed yet. */
export async function openSqlite(url: string, filename: string): Promise<Backend> {
  const inMemory = filename === ':memory:';
  if (!inMemory) makeFile(filename);
  const writer = new SQL({ adapter: 'sqlite', filename, create: true });
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
  const file = inMemory ? undefined : resolve(filename);
  const opened = file === undefined ? undefined : fileIdentity(file);
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
      if (file === undefined || fileIdentity(file) === opened) return undefined;
      // Without its name: devices hear of it, too.
      return "the store's file was removed or replaced while the server was running";
    },
    async close() {
      if (reader !== writer) await reader.close();
      await writer.close();
    },
  };
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
