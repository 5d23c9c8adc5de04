import { hostname } from 'node:os';
import type { Config } from '../config/schema.ts';
import { socketPath } from '../runtime/listen-host.ts';

/**
 * The name of this server for operators: its host, and a suffix that distinguishes it from other servers on the host.
 */
export function serverName({ channels }: Pick<Config, 'channels'>): string {
  const { host, port } = channels;
  return `${hostname()}:${socketPath(host) ?? (port === 0 ? process.pid : port)}`;
}
