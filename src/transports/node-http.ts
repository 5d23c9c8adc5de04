import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import { socketPath } from '../runtime/listen-host.ts';
import { openToGroup } from './socket-file.ts';

/** Opens a port and returns its number; 0 asks for any free port, and stands for a Unix socket. Rejects with the error of Node.js, such as `EADDRINUSE`. */
export async function openPort(server: Server, port: number, host: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  const path = socketPath(host);
  if (path === undefined) server.listen(port, host, resolve);
  else server.listen({ path }, resolve);
  await promise;
  server.off('error', reject);
  openToGroup(host);
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A header of a request; `name` is in lower case. Repeated headers are joined with commas. */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
}

/** A whole HTTP response as text, for a connection without a valid request. The connection closes after it. */
export function lastResponse(
  status: number,
  headers: Readonly<Record<string, string | string[]>>,
  body: string,
): string {
  const all = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    [value].flat().map((each) => `${name}: ${each}\r\n`),
  );
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}
