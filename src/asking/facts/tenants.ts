import type { UsedKey } from '../../runtime/keys/key-uses.ts';
import type { EndpointHealth } from '../../webhooks/sending/endpoint-health.ts';
import type { WaitingFor } from '../../webhooks/webhooks.ts';

/** An app or an instance. */
export interface Tenant {
  readonly kind: 'app' | 'instance';
  readonly id: string;
}

/** When the keys of a tenant were last used on one server, or on all. */
export interface KeyUsesOfServer {
  /** When the record begins: the start of the server, or the latest start of one of them. */
  readonly sinceMs: number;
  /** Secret keys have the names that are shown for them. */
  readonly keys: readonly UsedKey[];
}

/** How one server was answered by a webhook address. */
export type EndpointOfServer = Omit<EndpointHealth, 'lastAnswer'> & WaitingFor;

/** How an address has answered the servers that tried it. */
export type EndpointOfCluster = EndpointOfServer & { readonly servers: readonly string[] };
