import { CryptoHasher } from 'bun';
import type { OutboxKind } from '../outbox.ts';

/**
 * Names an endpoint by kind, owner and address, short enough for an index: `KIND.OWNER.ADDRESS`, the last two hashed.
 * Requests stored by earlier versions have `HASH` (Channels) or `push.HASH`; some may still wait.
 */
export function endpointOf(kind: OutboxKind, ownerId: string, address: string): string {
  return `${kind}.${digest([ownerId])}.${digest([ownerId, address])}`;
}

/** The kind of an endpoint's requests. */
export function kindOf(endpoint: string): OutboxKind {
  if (endpoint.startsWith('push.')) return 'push';
  return endpoint.startsWith('publish.') ? 'publish' : 'channels';
}

/** Equal for endpoints that share the limits of one: all addresses named by publishes of one instance. */
export function shareOf(endpoint: string): string {
  return kindOf(endpoint) === 'publish' ? `publish.${ownerOf(endpoint)}` : endpoint;
}

/** Equal for endpoints of one app or instance. An endpoint stored by an earlier version is an owner of its own. */
export function ownerOf(endpoint: string): string {
  const [, owner, address] = endpoint.split('.');
  if (owner === undefined || address === undefined) return endpoint;
  return kindOf(endpoint) === 'channels' ? `app ${owner}` : `instance ${owner}`;
}

function digest(parts: readonly string[]): string {
  return new CryptoHasher('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
