import { isUtf8 } from 'node:buffer';

/** Bytes in the body of one request; a longer one is refused with 413. */
const BODY_BYTES_MAX = 65_536;

export type ReadJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly status: 400 | 413 | 415; readonly error: string };

/** Reads the JSON body of a request; `undefined` where there is none. */
export async function readJson(request: Request): Promise<ReadJson> {
  // A form of another site cannot say this without asking first, and nobody answers that it may.
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    return { ok: false, status: 415, error: 'Content-Type must be application/json' };
  }
  const bytes = await bytesOf(request);
  if (bytes === undefined) {
    return { ok: false, status: 413, error: `The body is longer than ${BODY_BYTES_MAX} bytes` };
  }
  if (bytes.length === 0) return { ok: true, value: undefined };
  if (!isUtf8(bytes)) return { ok: false, status: 400, error: 'The body is not valid UTF-8' };
  try {
    return { ok: true, value: JSON.parse(bytes.toString('utf8')) };
  } catch {
    // What the parser says quotes the body, which may hold a secret.
    return { ok: false, status: 400, error: 'The body is not valid JSON' };
  }
}

/** `undefined`: there are too many. */
async function bytesOf(request: Request): Promise<Buffer | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) return undefined;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request.body ?? []) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
