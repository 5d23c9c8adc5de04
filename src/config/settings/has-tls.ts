import type { Config } from '../schema.ts';

/** Whether both public listeners speak TLS. */
export function hasTls({ tls }: Config): boolean {
  return tls.certFile !== null || tls.acme !== null;
}
