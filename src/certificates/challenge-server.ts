import type { Socket, TCPSocketListener } from 'bun';
import { addressKey } from '../runtime/ip-address.ts';
import { monotonicTimers } from '../runtime/system-timers.ts';
import { every } from '../runtime/time/every.ts';

const CHALLENGE_PATH = '/.well-known/acme-challenge/';

/** A request without a body has hardly more. */
const HEAD_BYTES_MAX = 8_192;

/** The longest lifetime of a connection, from its first byte. Milliseconds. */
const CONNECTION_MS = 10_000;

const CHECK_MS = 1_000;

/** The limit of connections. When one more comes, the address with the most connections loses its oldest one. */
const CONNECTIONS_MAX = 50;

export interface ChallengeServerOptions {
  readonly host: string;
  readonly port: number;
  readonly domains: readonly string[];
  readonly answer: (token: string) => string | undefined;
}

interface Visit {
  head: string;
  readonly atMs: number;
}

/**
 * Answers the challenges of an authority, and redirects all other requests to https. Each connection gets one
 * request, with bounds on its head and its time.
 */
export class ChallengeServer implements Disposable {
  private readonly options: ChallengeServerOptions;
  /** Oldest first. */
  private readonly open = new Map<Socket<Visit>, Visit>();
  private readonly listener: TCPSocketListener<Visit>;
  private readonly stopChecks: () => void;

  /** Opens the port. Throws Bun's error if that fails. */
  constructor(options: ChallengeServerOptions) {
    this.options = options;
    const { host: hostname, port } = options;
    this.listener = Bun.listen<Visit>({
      hostname,
      port,
      socket: {
        open: (socket) => this.admit(socket),
        data: (socket, bytes) => this.read(socket, bytes),
        close: (socket) => void this.open.delete(socket),
        error: (socket) => void socket.terminate(),
      },
    });
    this.stopChecks = every(monotonicTimers, CHECK_MS, () => this.endSlow());
  }

  get port(): number {
    return this.listener.port;
  }

  [Symbol.dispose](): void {
    this.stopChecks();
    this.listener.stop(true);
  }

  private admit(socket: Socket<Visit>): void {
    const visit = { head: '', atMs: performance.now() };
    socket.data = visit;
    this.open.set(socket, visit);
    if (this.open.size <= CONNECTIONS_MAX) return;
    oldestOfMost(this.open.keys())?.terminate();
  }

  private read(socket: Socket<Visit>, bytes: Buffer): void {
    const { data } = socket;
    if (data.head.length + bytes.length > HEAD_BYTES_MAX) {
      socket.end(plain('431 Request Header Fields Too Large', ''));
      return;
    }
    data.head += bytes.toString('latin1');
    const end = data.head.indexOf('\r\n\r\n');
    if (end >= 0) socket.end(this.answerTo(data.head.slice(0, end)));
  }

  private answerTo(head: string): string {
    const { domains, answer } = this.options;
    const [, method = '', path = ''] =
      /^([A-Z]+) (\/[!-~]*) HTTP\/1\.[01]\r?\n/.exec(`${head}\r\n`) ?? [];
    if (method === '') return plain('400 Bad Request', '');
    if (path.startsWith(CHALLENGE_PATH)) {
      const found = answer(path.slice(CHALLENGE_PATH.length));
      if (found === undefined) return plain('404 Not Found', '');
      return plain('200 OK', method === 'HEAD' ? '' : found);
    }
    const host = /\r\nhost:[ \t]*([^\r\n:]*)/i.exec(head)?.[1]?.toLowerCase() ?? '';
    // Redirects only to our own names, because the client chooses the Host header.
    const domain = domains.includes(host) ? host : domains[0];
    return plain('308 Permanent Redirect', '', `Location: https://${domain}${path}\r\n`);
  }

  private endSlow(): void {
    const nowMs = performance.now();
    for (const [socket, { atMs }] of this.open) {
      if (nowMs - atMs <= CONNECTION_MS) return;
      socket.terminate();
    }
  }
}

/** The first connection of the address with the most, where a network of IPv6 counts as one address. */
export function oldestOfMost<One extends { readonly remoteAddress: string }>(
  connections: Iterable<One>,
): One | undefined {
  const byAddress = Map.groupBy(connections, ({ remoteAddress }) => addressKey(remoteAddress));
  const [most] = [...byAddress.values()].toSorted((a, b) => b.length - a.length);
  return most?.[0];
}

function plain(status: string, body: string, headers = ''): string {
  return `HTTP/1.1 ${status}\r\n${headers}Content-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}
