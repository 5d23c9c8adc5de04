import { closeSync, constants, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../../runtime/error-code.ts';
import { sqliteFileOf } from './database.ts';

/** The path of a file of the server: next to an SQLite store, otherwise in `data/` of the working directory. */
export function besideStore(storeUrl: string, name: string): string {
  const store = sqliteFileOf(storeUrl);
  return store === undefined || store === ':memory:' ? resolve('data', name) : `${store}.${name}`;
}

/** Opens a file of the server for reading; `undefined` if there is none. The caller checks whose it is, and closes it. */
export function openToRead(file: string): number | undefined {
  try {
    // Does not follow a symbolic link, and does not block on a pipe.
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    return openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Flushes a file, or the names in a directory, to the disk. */
export function writeOut(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a new file that only its owner can read. Returns when its content is on the disk; if it fails, no part of the file stays. */
export function writePrivately(file: string, parts: readonly Uint8Array[]): void {
  const made = mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  if (made !== undefined) writeOut(dirname(made));
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    for (const part of parts) {
      for (let at = 0; at < part.length; ) at += writeSync(descriptor, part, at);
    }
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
