import { readFile } from 'node:fs/promises';
import { socketDescriptors } from './descriptors.ts';
import { SUSPICION_MS } from './finished-handshakes.ts';
import type { ConnectionFacts, Libc } from './libc.ts';
import { type OpenConnection, parseOpenConnections } from './proc-net-tcp.ts';
import { type Crowd, crowdsOf, newestBeyond } from './surplus.ts';

/** A port of ours, and whether it speaks TLS. */
export interface GuardedListener {
  readonly port: number;
  readonly tls: boolean;
}

/** What a sweep is for, and whom it asks and tells. */
export interface HandshakeSweepOptions {
  readonly listeners: readonly GuardedListener[];

  /** Unfinished connections one remote address may have; for no limit, start no guard. */
  readonly limitPerAddress: number;

  /**
   * Asks the realtime loop for `FinishedHandshakes.suspect(address)`.
   *
   * Without TLS little depends on it: what we have sent data to was answered, and is not asked about.
   * With TLS the handshake itself sends data, so only the realtime loop can tell; it gets `NOTICE_MS`
   * from the first ask on to note requests, before a connection that may be finished is closed.
   */
  finishedPorts(address: string): Promise<Iterable<number>>;

  /** Hears that `count` connections of an address were closed, once for every address and sweep. */
  refused(address: string, count: number): void;

  readonly nowMs: () => number;
}

/** How long an address is under suspicion before connections are closed that may be finished. */
export const NOTICE_MS = 2_000;

/** A connection, its descriptor in this process, and what the kernel knows about it. */
interface Suspected extends OpenConnection, ConnectionFacts {
  readonly descriptor: number;
}

/** Closes what is over the limit, and remembers between sweeps which addresses were. */
export class HandshakeSweep {
  readonly #options: HandshakeSweepOptions;
  readonly #libc: Libc;
  readonly #ports: ReadonlySet<number>;
  readonly #tlsPorts: ReadonlySet<number>;
  readonly #suspicions = new Map<string, { readonly sinceMs: number; readonly askedMs: number }>();

  constructor(options: HandshakeSweepOptions, libc: Libc) {
    this.#options = options;
    this.#libc = libc;
    this.#ports = new Set(options.listeners.map(({ port }) => port));
    this.#tlsPorts = new Set(options.listeners.flatMap(({ port, tls }) => (tls ? port : [])));
  }

  /** Looks at all connections once. Closes none any more once `stopped`. */
  async run(stopped: AbortSignal): Promise<void> {
    const crowds = crowdsOf(await this.#openConnections(), this.#options.limitPerAddress);
    if (crowds.length === 0) return;

    const descriptors = socketDescriptors();
    for (const crowd of crowds) await this.#thin(crowd, descriptors, stopped);
  }

  async #openConnections(): Promise<OpenConnection[]> {
    const tables = await Promise.all([readFile('/proc/net/tcp', 'latin1'), readTcp6()]);
    return tables.flatMap((text) => parseOpenConnections(text, this.#ports));
  }

  /** Closes the newest of the unfinished connections of one address that are over the limit. */
  async #thin(
    { remoteAddress, connections }: Crowd,
    descriptors: ReadonlyMap<number, number>,
    stopped: AbortSignal,
  ): Promise<void> {
    const { limitPerAddress } = this.#options;
    const doubtful = this.#describe(connections, descriptors).filter((connection) =>
      this.#isDoubtful(connection.localPort, connection),
    );
    if (doubtful.length <= limitPerAddress) return;

    const noticeIsOver = this.#noticeIsOver(remoteAddress);
    const finished = new Set(await this.#options.finishedPorts(remoteAddress));
    if (stopped.aborted) return;

    const unfinished = doubtful.filter(
      ({ remotePort, answered }) => !finished.has(remotePort) && (noticeIsOver || !answered),
    );
    const closed = newestBeyond(limitPerAddress, unfinished).filter(
      ({ localPort, remotePort, descriptor }) =>
        // It is looked at again: it may have been answered while the realtime loop was asked.
        this.#libc.end(
          descriptor,
          (now) =>
            now.remoteAddress === remoteAddress &&
            now.remotePort === remotePort &&
            this.#isDoubtful(localPort, now) &&
            (noticeIsOver || !now.answered),
        ),
    );
    if (closed.length > 0) this.#options.refused(remoteAddress, closed.length);
  }

  /** Over TLS an answer may be a part of the handshake; otherwise it is the answer to a request. */
  #isDoubtful(localPort: number, { answered }: ConnectionFacts): boolean {
    return !answered || this.#tlsPorts.has(localPort);
  }

  /** Leaves out those that are closed by now, or that another process has. */
  #describe(
    connections: readonly OpenConnection[],
    descriptors: ReadonlyMap<number, number>,
  ): Suspected[] {
    return connections.flatMap((connection) => {
      const descriptor = descriptors.get(connection.inode);
      if (descriptor === undefined) return [];
      const facts = this.#libc.describe(descriptor);
      return facts === undefined ? [] : { ...facts, ...connection, descriptor };
    });
  }

  /** Tells whether the realtime loop has noted the requests of an address for long enough. */
  #noticeIsOver(address: string): boolean {
    const askedMs = this.#options.nowMs();
    for (const [other, suspicion] of this.#suspicions) {
      if (askedMs - suspicion.askedMs < SUSPICION_MS) break;
      this.#suspicions.delete(other);
    }

    const sinceMs = this.#suspicions.get(address)?.sinceMs ?? askedMs;
    this.#suspicions.delete(address);
    this.#suspicions.set(address, { sinceMs, askedMs });
    return askedMs - sinceMs >= NOTICE_MS;
  }
}

/** There is no such table where IPv6 is switched off. */
async function readTcp6(): Promise<string> {
  try {
    return await readFile('/proc/net/tcp6', 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
