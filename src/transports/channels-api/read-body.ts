import type { MaybePromise } from '../../channels/maybe-promise.ts';
import { Refusal } from './problems.ts';

const NOTHING = new Uint8Array(0);

/** Reads a request's body, however it is framed, and stops at `bytesMax`. */
export function readBody(request: Request, bytesMax: number): MaybePromise<Uint8Array | Refusal> {
  const length = request.headers.get('content-length');
  if (length === null) return readParts(request, bytesMax);
  // Refused by its word, so that what is too large is not read at all.
  return Number(length) > bytesMax ? tooLarge(bytesMax) : request.bytes();
}

async function readParts(request: Request, bytesMax: number): Promise<Uint8Array | Refusal> {
  if (request.body === null) return NOTHING;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request.body) {
    bytes += part.length;
    if (bytes > bytesMax) return tooLarge(bytesMax);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function tooLarge(bytesMax: number): Refusal {
  return new Refusal(
    'request-too-large',
    `The body of the request exceeds the allowed maximum (${bytesMax} bytes)`,
  );
}

/** Fails on what is not UTF-8, and takes a byte order mark for a character like any other. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a body, or why there is none. */
export function textOf(body: Uint8Array): string | Refusal {
  try {
    return utf8.decode(body);
  } catch {
    // The only thing that a decoder that is asked to be strict throws for.
    return new Refusal('invalid', 'The body is not valid UTF-8');
  }
}
