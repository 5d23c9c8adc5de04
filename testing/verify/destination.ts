import type { Destination } from '../../src/doctor/client/link.ts';
import { parseTarget } from '../../src/doctor/target.ts';

/** Where the clients and backends of `src/verify` connect to a URL. */
export function destinationOf(url: string): Destination {
  const parsed = parseTarget(url, undefined);
  if (!parsed.ok) throw new Error(parsed.detail);
  const endpoint = parsed.target.websocket;
  return { endpoint, address: endpoint.hostname, ca: undefined };
}
