import { plainAddress } from './remote-address.ts';

/** How long an address stays under suspicion after the last ask, and a noted request counts. */
export const SUSPICION_MS = 60_000;

/** Addresses under suspicion at once; one more takes the place of the one asked about longest ago. */
export const SUSPECTS_MAX = 100;

/** HTTP connections noted per address; one more takes the place of the one noted longest ago. */
export const NOTED_PER_SUSPECT_MAX = 10_000;

/** What is known of one address under suspicion. */
interface Suspect {
  askedMs: number;
  /** Remote port to when a request came from it last, the one longest ago first. */
  readonly notedMs: Map<number, number>;
}

/**
 * Knows, on the realtime loop, which connections of an address have finished their handshake.
 *
 * WebSockets are known anyway. HTTP requests are noted only from an address that the handshake guard
 * has asked about in the last minute, so that the rest of the time a request costs one boolean test:
 *
 *     if (finished.watching) finished.noteRequest(ip.address, ip.port);
 *
 * Hence a keep-alive connection of such an address that has been idle since before the first ask, or
 * for a minute, is not known to be finished. It matters with TLS only (see `HandshakeSweepOptions`),
 * and a server may close an idle connection at any time.
 */
export class FinishedHandshakes {
  /** In the order in which they were asked about, the one longest ago first. */
  readonly #suspects = new Map<string, Suspect>();
  readonly #webSocketPorts: (address: string) => Iterable<number>;
  readonly #nowMs: () => number;

  /**
   * @param webSocketPorts Gives the remote ports of the open WebSockets of an address, and of other
   *   connections that are held open for long. The address is in the form of `plainAddress`; what
   *   Bun calls `remoteAddress` must be brought to that form to be compared with it.
   */
  constructor(
    webSocketPorts: (address: string) => Iterable<number>,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#webSocketPorts = webSocketPorts;
    this.#nowMs = nowMs;
  }

  /** Whether any address is under suspicion, so that requests are worth noting. */
  get watching(): boolean {
    return this.#suspects.size > 0;
  }

  /** Puts an address under suspicion, and tells the remote ports of it known to be finished. */
  suspect(address: string): readonly number[] {
    const nowMs = this.#nowMs();
    this.#acquit(nowMs);

    const key = plainAddress(address);
    const notedMs = this.#suspects.get(key)?.notedMs ?? new Map<number, number>();
    this.#suspects.delete(key);
    this.#suspects.set(key, { askedMs: nowMs, notedMs });
    if (this.#suspects.size > SUSPECTS_MAX) dropFirst(this.#suspects);

    for (const [port, atMs] of notedMs) {
      if (nowMs - atMs < SUSPICION_MS) break;
      notedMs.delete(port);
    }
    return [...this.#webSocketPorts(key), ...notedMs.keys()];
  }

  /** Notes that a request came in over a connection. Only worth calling while `watching`. */
  noteRequest(address: string, port: number): void {
    const nowMs = this.#nowMs();
    this.#acquit(nowMs);

    const noted = this.#suspects.get(plainAddress(address))?.notedMs;
    if (noted === undefined) return;
    noted.delete(port);
    noted.set(port, nowMs);
    if (noted.size > NOTED_PER_SUSPECT_MAX) dropFirst(noted);
  }

  /** Forgets the addresses that nobody has asked about for a while. */
  #acquit(nowMs: number): void {
    for (const [address, { askedMs }] of this.#suspects) {
      if (nowMs - askedMs < SUSPICION_MS) return;
      this.#suspects.delete(address);
    }
  }
}

function dropFirst<Key>(map: Map<Key, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
