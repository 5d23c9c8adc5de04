import { readFileSync } from 'node:fs';
import type { Fanfare } from '../../testing/servers/fanfare.ts';

/** The memory that a server takes now. */
export function residentBytes(server: Fanfare): number {
  const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8');
  const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(status) ?? [];
  return Number(kib) * 1024;
}
