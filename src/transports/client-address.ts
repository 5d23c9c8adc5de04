import type { TrustedProxies } from '../runtime/trusted-proxies.ts';

/** The address of the client that sent a request; `peer` is the far end of its connection. */
export function clientAddress(proxies: TrustedProxies, peer: string, headers: Headers): string {
  // Most servers have no proxy that is named, and then need not read the headers.
  if (proxies.isEmpty) return peer;
  return proxies.clientOf(peer, {
    xForwardedFor: headers.get('x-forwarded-for') ?? undefined,
    forwarded: headers.get('forwarded') ?? undefined,
  });
}
