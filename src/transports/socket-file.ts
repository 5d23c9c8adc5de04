import { chmodSync } from 'node:fs';
import { socketPath } from '../runtime/listen-host.ts';

/** The owner and the group of the file may connect. */
const SOCKET_MODE = 0o660;

/** Lets the group of the server connect to the Unix socket of a listener that has just been opened. Does nothing for an address. */
export function openToGroup(host: string): void {
  const path = socketPath(host);
  if (path !== undefined) chmodSync(path, SOCKET_MODE);
}
