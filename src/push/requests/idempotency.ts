import { createHash } from 'node:crypto';
import type { PublishTarget } from '../model/publish.ts';
import { PushRefusal } from '../refusal.ts';

/** How long a key is remembered. */
export const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;

/** Visible ASCII. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** Reads the header `Idempotency-Key`, which makes sure that a repeated publish is accepted once. */
export function readIdempotencyKey(header: string | null): string | undefined | PushRefusal {
  if (header === null) return undefined;
  return KEY.test(header)
    ? header
    : new PushRefusal(
        'bad-request',
        'The header Idempotency-Key must have 1 to 255 visible ASCII characters',
      );
}

/** Equal for publishes of one kind with the same bytes in their bodies. */
export function fingerprintOf(kind: PublishTarget['kind'], body: Uint8Array): string {
  return createHash('sha256').update(`${kind}\n`).update(body).digest('hex');
}
