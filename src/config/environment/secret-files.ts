import { readFileSync, statSync } from 'node:fs';
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

/** Reads a secret from a file, without the line break at its end. The message of a failure repeats nothing of the file. */
export function readSecretFile(path: string): ReadSecret {
  if (path === '') return { message: 'must be the path of a file, got ""' };
  let text: string;
  try {
    const file = statSync(path);
    // A pipe without a writer would block the start for ever.
    if (!file.isFile()) return { message: `${path} is not a file` };
    if (file.size > FILE_BYTES_MAX) return { message: `${path} is larger than 64 KiB` };
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    return { message: `${path} ${fileFault(error)}` };
  }
  const value = text.replace(/\r?\n$/, '');
  return value === '' ? { message: `${path} is empty` } : { value };
}
