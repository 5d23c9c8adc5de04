import { ApiRefusal } from './problems.ts';

/** Throws if the text is not UTF-8; keeps a byte order mark as a character. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes a body. */
export function textOf(body: Uint8Array): string | ApiRefusal {
  try {
    return utf8.decode(body);
  } catch {
    // A fatal decoder throws for nothing else.
    return new ApiRefusal('invalid', 'The body is not valid UTF-8');
  }
}
