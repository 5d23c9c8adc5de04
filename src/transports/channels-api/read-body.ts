import { isUtf8 } from 'node:buffer';
import { Refusal } from './problems.ts';

const NOTHING = new Uint8Array(0);

/** Reads a request's body, however it is framed, and stops at `bytesMax`. */
export async function readBody(request: Request, bytesMax: number): Promise<Uint8Array | Refusal> {
  const length = request.headers.get('content-length');
  if (length !== null) {
    // Refused by its word, so that what is too large is not read at all.
    return Number(length) > bytesMax ? tooLarge(bytesMax) : await request.bytes();
  }
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

/** The text of a body, or why there is none. */
export function textOf(body: Uint8Array): string | Refusal {
  return isUtf8(body)
    ? Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
    : new Refusal('invalid', 'The body is not valid UTF-8');
}
