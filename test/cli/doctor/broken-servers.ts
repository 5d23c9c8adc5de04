import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Certificate } from '../../../testing/servers/openssl.ts';

/** Servers and proxies that do one thing wrong. */
export interface BrokenServer extends AsyncDisposable {
  readonly port: number;
}

/** A TCP server that handles each connection as given. */
export async function tcpServer(
  talk: (socket: Socket) => void,
  tls?: Certificate,
): Promise<BrokenServer> {
  const open = new Set<Socket>();
  const treat = (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    // The doctor closes connections once it knows enough.
    socket.on('error', () => socket.destroy());
    talk(socket);
  };
  const server = tls === undefined ? createServer(treat) : createTlsServer(tls, treat);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', () => listening()));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('It listens on no port');
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise<void>((closed) => server.close(() => closed()));
    },
  };
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  await using server = await tcpServer((socket) => socket.destroy());
  return server.port;
}

/** One HTTP answer as bytes. */
export function httpAnswer(
  status: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${lines.join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** A server that gives every request the same answer. */
export function sameAnswer(answer: string | (() => string)): Promise<BrokenServer> {
  return tcpServer((socket) =>
    socket.on('data', () => socket.write(typeof answer === 'string' ? answer : answer())),
  );
}

/** What a proxy does with the answers to some requests. */
export interface Holding {
  /** The requests, as they are sent. */
  readonly requests: RegExp;
  /** Holds their answers back until they end. */
  readonly buffers?: true;
  /** Cuts the connection behind the bytes that hold this. */
  readonly cutsBehind?: string;
}

/** A proxy that buffers or cuts the answers to some requests. */
export function holdingProxy(
  server: { readonly port: number },
  { requests, buffers, cutsBehind }: Holding,
): Promise<BrokenServer> {
  return tcpServer((near) => {
    const far = connect({ host: '127.0.0.1', port: server.port });
    let isMeant = false;
    const held: Buffer[] = [];
    const release = () => near.write(Buffer.concat(held.splice(0)));
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
    near.on('data', (bytes: Buffer) => {
      isMeant ||= requests.test(bytes.toString('latin1'));
      far.write(bytes);
    });
    far.on('data', (bytes: Buffer) => {
      held.push(bytes);
      const isLast = bytes.toString('latin1').endsWith(LAST_CHUNK);
      if (!isMeant || buffers === undefined || isLast) release();
      if (isMeant && cutsBehind !== undefined && bytes.includes(cutsBehind)) near.end();
    });
    far.on('close', () => {
      release();
      near.end();
    });
  });
}

/** How an answer without a length ends. */
const LAST_CHUNK = '0\r\n\r\n';

export interface Tampering {
  /** Changes what a client sends. */
  readonly toServer?: (bytes: Buffer) => Buffer;
  /** Changes what the server sends. */
  readonly toClient?: (bytes: Buffer) => Buffer;
  /** Answers a request instead of the server. */
  readonly instead?: (request: string) => string | undefined;
  /** Milliseconds of silence after which a connection is cut. */
  readonly idleMs?: number;
}

/** A proxy in front of a working server. */
export function proxy(
  server: { readonly port: number },
  { toServer = same, toClient = same, instead, idleMs = 0 }: Tampering,
): Promise<BrokenServer> {
  return tcpServer((near) => {
    const far = connect({ host: '127.0.0.1', port: server.port });
    far.on('error', () => near.destroy());
    far.on('close', () => near.end());
    near.on('close', () => far.destroy());
    near.setTimeout(idleMs, () => near.destroy());
    near.on('data', (bytes: Buffer) => {
      const answer = instead?.(bytes.toString('latin1'));
      if (answer === undefined) far.write(toServer(bytes));
      else near.end(answer);
    });
    far.on('data', (bytes: Buffer) => near.write(toClient(bytes)));
  });
}

const same = (bytes: Buffer): Buffer => bytes;

/** Replaces letters by others of the same length in bytes. */
export function replacing(from: string | RegExp, to: string): (bytes: Buffer) => Buffer {
  // Byte by byte, so that binary data stays unchanged.
  const pattern = typeof from === 'string' ? Buffer.from(from).toString('latin1') : from;
  return (bytes) =>
    Buffer.from(
      bytes.toString('latin1').replaceAll(pattern, Buffer.from(to).toString('latin1')),
      'latin1',
    );
}
