import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { fileFault } from '../../runtime/error-code.ts';

/** The settings that may hold a secret. The variable of each can name a file instead, as container platforms want it. */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set([
  'admin.password',
  'store.url',
  'engine.url',
  'engine.urls',
  'engine.sentinels.password',
  'outgoing.proxy',
]);

/** Ends the name of a variable that names the file of a secret. */
export const FILE_SUFFIX = '_FILE';

/** A secret is a password or a few URLs. A longer file is a mistake. */
const FILE_BYTES_MAX = 65_536;

export type ReadSecret = { readonly value: string } | { readonly message: string };

/**
 * Reads a secret from a file, without the line break at its end. A pipe without a writer would block the start of a server
 * for ever, so only commands take one (`pipes`). The message of a failure repeats nothing of the file.
 */
export function readSecretFile(path: string, { pipes = false } = {}): ReadSecret {
  if (path === '') return { message: 'must be the path of a file, got ""' };
  try {
    const file = statSync(path);
    if (!file.isFile() && !(pipes && file.isFIFO())) return { message: `${path} is not a file` };
    const descriptor = openSync(path, 'r');
    try {
      return readSecret(descriptor, path);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return { message: `${path} ${fileFault(error)}` };
  }
}

/** Reads a secret to the end of an open file, which messages call `name`. Throws what reading throws. */
export function readSecret(descriptor: number, name: string): ReadSecret {
  const bytes = Buffer.alloc(FILE_BYTES_MAX + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read) {
    read = readSync(descriptor, bytes, length, bytes.length - length, null);
  }
  if (length > FILE_BYTES_MAX) return { message: `${name} is larger than 64 KiB` };
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
  const value = text.replace(/\r?\n$/, '');
  return value === '' ? { message: `${name} is empty` } : { value };
}
