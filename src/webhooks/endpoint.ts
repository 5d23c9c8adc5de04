import { CryptoHasher } from 'bun';
import type { OutboxKind } from '../channels/outbox.ts';

/**
 * One text for one kind, owner and address, short enough for any index. It shows its kind, and of the addresses
 * that publishes name whose they are: `push.HASH`, `publish.OWNER.HASH`, and `HASH` for Channels.
 */
export function endpointOf(kind: OutboxKind, ownerId: string, address: string): string {
  switch (kind) {
    case 'channels':
      return digest([kind, ownerId, address]);
    case 'push':
      return `push.${digest([ownerId, address])}`;
    case 'publish':
      return `publish.${digest([ownerId])}.${digest([ownerId, address])}`;
    default:
      return kind satisfies never;
  }
}

/** The kind of an endpoint's requests. */
export function kindOf(endpoint: string): OutboxKind {
  if (endpoint.startsWith('push.')) return 'push';
  return endpoint.startsWith('publish.') ? 'publish' : 'channels';
}

/** Equal for endpoints that have their room together: for the addresses that publishes of one instance name. */
export function shareOf(endpoint: string): string {
  const [kind, owner, address] = endpoint.split('.');
  return address === undefined ? endpoint : `${kind}.${owner}`;
}

function digest(parts: readonly string[]): string {
  return new CryptoHasher('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
