import type { Config } from '../schema.ts';

/** Whether both public listeners speak TLS. */
export function hasTls({ tls }: Pick<Config, 'tls'>): boolean {
  return tls.certFile !== null || tls.acme !== null;
}
