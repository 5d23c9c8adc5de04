import { ApiRefusal } from './problems.ts';

/** Fails on what is not UTF-8, and takes a byte order mark for a character like any other. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a body, or why there is none. */
export function textOf(body: Uint8Array): string | ApiRefusal {
  try {
    return utf8.decode(body);
  } catch {
    // The only thing that a decoder that is asked to be strict throws for.
    return new ApiRefusal('invalid', 'The body is not valid UTF-8');
  }
}
