import { isUtf8 } from 'node:buffer';
import type { AdminRequest } from './http-server.ts';

export type ReadJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly status: 400 | 413 | 415; readonly error: string };

/** Reads the JSON body of a request; `undefined` if it is empty. */
export async function readJson(request: AdminRequest): Promise<ReadJson> {
  // Pages of other sites cannot send this type without a CORS preflight, which this listener never allows.
  const type = request.head.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    return { ok: false, status: 415, error: 'Content-Type must be application/json' };
  }
  const body = await request.readBody();
  if (body === 'too-long') return { ok: false, status: 413, error: 'The body is too long' };
  if (body === 'gone') return { ok: false, status: 400, error: 'The body is not complete' };
  if (body.length === 0) return { ok: true, value: undefined };
  if (!isUtf8(body)) return { ok: false, status: 400, error: 'The body is not valid UTF-8' };
  try {
    return { ok: true, value: JSON.parse(body.toString('utf8')) };
  } catch {
    // The message of the parser is left out: it quotes the body, which may hold a secret.
    return { ok: false, status: 400, error: 'The body is not valid JSON' };
  }
}
