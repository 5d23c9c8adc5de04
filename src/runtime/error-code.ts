/** The `code` of an error that has one, for example `ENOENT`. */
export function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/**
 * The failure as one word: the error's code, otherwise its name. Never the message: Bun's errors quote the URL, which
 * may contain a secret.
 */
export function errorWord(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return String(errorCode(error) ?? error.name);
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Where anything was thrown, for the log: its stack, which begins with its message. */
export function stackOf(error: unknown): string {
  return (error instanceof Error ? error.stack : undefined) ?? messageOf(error);
}

/** Why a file cannot be read. Completes "FILE …". */
export function fileFault(error: unknown): string {
  const code = errorCode(error);
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'may not be read (permission denied)';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'is not UTF-8 text';
    default:
      return `cannot be read (${String(code ?? messageOf(error))})`;
  }
}
