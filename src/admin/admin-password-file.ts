import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, linkSync, readSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode, messageOf } from '../runtime/error-code.ts';
import {
  besideStore,
  openToRead,
  writeOut,
  writePrivately,
} from '../stores/database/beside-store.ts';

/** 192 random bits. They are written as base64url, which needs no quoting in URLs and shells. */
const PASSWORD_BYTES = 24;

/** The longest password file. */
const FILE_BYTES_MAX = 1024;

/** The content of a password file. */
export interface FilePassword {
  readonly password: string;
  /** Whether other users of the machine can read the file. */
  readonly isExposed: boolean;
}

/** A password file that cannot be used. The message is for the operator. */
export class PasswordFileFault extends Error {
  override readonly name = 'PasswordFileFault';
}

/** The file of the admin API's password, if the configuration has none. */
export function adminPasswordFile(storeUrl: string): string {
  return besideStore(storeUrl, 'admin-password');
}

/** Reads the password; `undefined` if there is no file. Throws `PasswordFileFault`. */
export function readAdminPassword(file: string): FilePassword | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openToRead(file);
  } catch (error) {
    throw fault(file, errorCode(error) === 'ELOOP' ? 'it is a symbolic link' : messageOf(error));
  }
  if (descriptor === undefined) return undefined;
  try {
    return { password: passwordIn(descriptor, file), isExposed: isExposed(descriptor, file) };
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a password unless there is one, and returns the one that is then in the file. */
export function createAdminPassword(file: string): FilePassword {
  const written = writeTemporary(file);
  try {
    // Atomic, and never overwrites: of several servers that start now, one wins.
    linkSync(written.file, file);
    // Somebody may have the password now, so it must outlive a power failure.
    writeOut(dirname(file));
    return { password: written.password, isExposed: false };
  } catch (error) {
    const existing = errorCode(error) === 'EEXIST' ? readAdminPassword(file) : undefined;
    if (existing === undefined) throw error;
    return existing;
  } finally {
    rmSync(written.file, { force: true });
  }
}

/** Replaces the password with a new one. */
export function replaceAdminPassword(file: string): string {
  const written = writeTemporary(file);
  try {
    renameSync(written.file, file);
    writeOut(dirname(file));
    return written.password;
  } catch (error) {
    rmSync(written.file, { force: true });
    throw error;
  }
}

/** Writes a new password into a temporary file in the same directory. Only its owner can read it. */
function writeTemporary(file: string): { readonly file: string; readonly password: string } {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  writePrivately(unfinished, [Buffer.from(`${password}\n`)]);
  return { file: unfinished, password };
}

function passwordIn(descriptor: number, file: string): string {
  if (!fstatSync(descriptor).isFile()) throw fault(file, 'it is not a file');
  const bytes = Buffer.alloc(FILE_BYTES_MAX + 1);
  const length = readSync(descriptor, bytes, 0, bytes.length, 0);
  const password = bytes.toString('utf8', 0, length).replace(/\r?\n$/, '');
  if (length > FILE_BYTES_MAX || !/^[^\p{Cc}\uFFFD]+$/u.test(password)) {
    throw fault(file, 'it does not hold one line with a password');
  }
  return password;
}

/** Throws if another user may have chosen the content of the file. */
function isExposed(descriptor: number, file: string): boolean {
  const { uid, mode } = fstatSync(descriptor);
  const me = process.geteuid?.() ?? uid;
  if (uid !== me && uid !== 0 && me !== 0) {
    throw fault(file, `it belongs to another user (${uid})`);
  }
  if ((mode & 0o002) !== 0) throw fault(file, 'every user of this machine can write to it');
  return (mode & 0o077) !== 0;
}

function fault(file: string, why: string): PasswordFileFault {
  return new PasswordFileFault(
    `The password of the admin API cannot be read from ${file}: ${why}. It must be a file that only the server's user can read and write. To make a new one: fanfare admin password --new`,
  );
}
