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
