import { CryptoHasher } from 'bun';
import type { OutboxKind } from '../channels/outbox.ts';

/** One text for one kind, owner and address, short enough for any index. */
export function endpointOf(kind: OutboxKind, ownerId: string, url: string): string {
  return new CryptoHasher('sha256')
    .update(JSON.stringify([kind, ownerId, url]))
    .digest('hex')
    .slice(0, 32);
}
