import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { sqliteFileOf } from '../stores/database/database.ts';

/** Of 24 random bytes: 192 bits, and nothing that a URL or a shell would read otherwise. */
const PASSWORD_BYTES = 24;

/** No password is longer. */
const FILE_BYTES_MAX = 1024;

/** A password as its file has it. */
export interface KeptPassword {
  readonly password: string;
  /** Whether other users of the machine may read the file. */
  readonly isExposed: boolean;
}

/** A file that cannot be used as it is, in words for the operator. */
export class PasswordFileFault extends Error {
  override readonly name = 'PasswordFileFault';
}

/**
 * Where the password of the admin API is kept when the configuration names none: beside a store in SQLite, otherwise
 * in `data/` of the working directory.
 */
export function adminPasswordFile(storeUrl: string): string {
  const store = sqliteFileOf(storeUrl);
  return store === undefined || store === ':memory:'
    ? resolve('data/admin-password')
    : `${store}.admin-password`;
}

/** Reads the password; `undefined` where there is no file. Throws `PasswordFileFault`. */
export function readAdminPassword(file: string): KeptPassword | undefined {
  let descriptor: number;
  try {
    // No symbolic link is followed, and a pipe in its place keeps nobody waiting.
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw fault(file, codeOf(error) === 'ELOOP' ? 'it is a symbolic link' : messageOf(error));
  }
  try {
    return { password: passwordIn(descriptor, file), isExposed: isExposed(descriptor, file) };
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a password where there is none yet, and gives the one that is there then. */
export function createAdminPassword(file: string): KeptPassword {
  const written = writeBeside(file);
  try {
    // All of it or nothing, and never over another one: of several servers that start now, one is first.
    linkSync(written.file, file);
    return { password: written.password, isExposed: false };
  } catch (error) {
    const others = codeOf(error) === 'EEXIST' ? readAdminPassword(file) : undefined;
    if (others === undefined) throw error;
    return others;
  } finally {
    rmSync(written.file, { force: true });
  }
}

/** Makes a new password in the place of the one that is there. */
export function replaceAdminPassword(file: string): string {
  const written = writeBeside(file);
  try {
    renameSync(written.file, file);
    return written.password;
  } catch (error) {
    rmSync(written.file, { force: true });
    throw error;
  }
}

/** Writes a new password into a file of its own, in the same directory, that only its owner can read. */
function writeBeside(file: string): { readonly file: string; readonly password: string } {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  const descriptor = openSync(unfinished, 'wx', 0o600);
  try {
    writeSync(descriptor, `${password}\n`);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return { file: unfinished, password };
}

function passwordIn(descriptor: number, file: string): string {
  if (!fstatSync(descriptor).isFile()) throw fault(file, 'it is no file');
  const bytes = Buffer.alloc(FILE_BYTES_MAX + 1);
  const length = readSync(descriptor, bytes, 0, bytes.length, 0);
  const password = bytes.toString('utf8', 0, length).replace(/\r?\n$/, '');
  if (length > FILE_BYTES_MAX || !/^[^\p{Cc}\uFFFD]+$/u.test(password)) {
    throw fault(file, 'it does not hold one line with a password');
  }
  return password;
}

/** Throws where somebody else may have chosen what is in the file. */
function isExposed(descriptor: number, file: string): boolean {
  const { uid, mode } = fstatSync(descriptor);
  const me = process.geteuid?.() ?? uid;
  if (uid !== me && uid !== 0 && me !== 0) {
    throw fault(file, `it belongs to another user (${uid})`);
  }
  if ((mode & 0o002) !== 0) throw fault(file, 'every user of this machine may write to it');
  return (mode & 0o077) !== 0;
}

function fault(file: string, why: string): PasswordFileFault {
  return new PasswordFileFault(
    `The password of the admin API cannot be read from ${file}: ${why}. It must be a file that only the server's user can read and write. To make a new one: fanfare admin password --new`,
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
