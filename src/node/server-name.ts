import { hostname } from 'node:os';
import type { Config } from '../config/schema.ts';

/** What operators call this server: its host, and what tells it apart from others of the host. */
export function serverName({ channels }: Pick<Config, 'channels'>): string {
  return `${hostname()}:${channels.port === 0 ? process.pid : channels.port}`;
}
