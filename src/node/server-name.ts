import { hostname } from 'node:os';
import type { Config } from '../config/schema.ts';

/**
 * The name of this server for operators: its host, and a suffix that distinguishes it from other servers on the host.
 */
export function serverName({ channels }: Pick<Config, 'channels'>): string {
  return `${hostname()}:${channels.port === 0 ? process.pid : channels.port}`;
}
