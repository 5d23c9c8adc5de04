import { CryptoHasher } from 'bun';
import type { OutboxKind } from './outbox.ts';

/**
 * One text for one kind, owner and address, short enough for any index: `KIND.OWNER.ADDRESS`, the last two hashed.
 * Requests that earlier versions stored have `HASH` for Channels and `push.HASH`; they may still wait.
 */
export function endpointOf(kind: OutboxKind, ownerId: string, address: string): string {
  return `${kind}.${digest([ownerId])}.${digest([ownerId, address])}`;
}

/** The kind of an endpoint's requests. */
export function kindOf(endpoint: string): OutboxKind {
  if (endpoint.startsWith('push.')) return 'push';
  return endpoint.startsWith('publish.') ? 'publish' : 'channels';
}

/** Equal for endpoints that have the room of one together: for the addresses that publishes of one instance name. */
export function shareOf(endpoint: string): string {
  return kindOf(endpoint) === 'publish' ? `publish.${ownerOf(endpoint)}` : endpoint;
}

/**
 * Equal for endpoints of one app, and for those of one instance. An endpoint that an earlier version stored counts as
 * an owner of its own.
 */
export function ownerOf(endpoint: string): string {
  const [, owner, address] = endpoint.split('.');
  if (owner === undefined || address === undefined) return endpoint;
  return kindOf(endpoint) === 'channels' ? `app ${owner}` : `instance ${owner}`;
}

function digest(parts: readonly string[]): string {
  return new CryptoHasher('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
