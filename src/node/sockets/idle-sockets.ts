import { addressKey } from '../../runtime/ip-address.ts';
import { LogThrottle } from '../../runtime/logging/log-throttle.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import type { SocketMarks } from '../../runtime/shared-memory/socket-marks.ts';
import type { KernelSocket, KernelSockets } from './kernel-sockets.ts';
import { surplusOf } from './surplus.ts';

/** Idle connections are counted while more than this part of the threshold is in use. */
export const SCARCE = 0.75;

/** What part of them idle connections may then have together. */
const IDLE_PART = 0.25;

/** Descriptors that one turn of the loop examines. It takes up to 4 ms. */
const SLICE = 1_000;

/** The pause after a search that found nothing to close. Milliseconds. */
const REST_MS = 500;

export interface IdleSocketsOptions {
  readonly sockets: Pick<KernelSockets, 'accepted' | 'end'>;
  /** The connections that are in use. */
  readonly marks: SocketMarks;
  /** The port of the channels listener; 0 while it is not open. */
  readonly port: () => number;
  /** Descriptors that connections to the channels listener may use. */
  readonly threshold: number;
  /** What this number follows from. */
  readonly bound: 'open files' | 'memory';
  readonly trusts: (address: string) => boolean;
  /** Called with how many were closed. */
  readonly onEnded: (count: number) => void;
  readonly log: Log;
  /** A monotonic clock. */
  readonly clock: Clock;
}

interface Found extends KernelSocket {
  readonly owner: string;
}

/**
 * Closes connections to the channels listener that are idle, or whose request or handshake does not arrive in full, while
 * descriptors or memory for connections are scarce. The runtime neither counts them nor knows their addresses, so the kernel is asked.
 */
export class IdleSockets {
  private readonly options: IdleSocketsOptions;
  private readonly throttle: LogThrottle;
  private found: Found[] = [];
  private descriptor = 0;
  private restsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: IdleSocketsOptions) {
    this.options = options;
    this.throttle = new LogThrottle(options.clock);
  }

  /**
   * Looks for such connections if `used` descriptors are too many; called many times a second. `limit`: the number that no
   * descriptor exceeds. Returns how many connections it has ended, whose descriptors are about to be free.
   */
  check(used: number, limit: number): number {
    const { threshold, clock } = this.options;
    if (this.descriptor === 0 && (used < threshold * SCARCE || clock.now() < this.restsUntilMs)) {
      return 0;
    }
    // The kernel gives out the lowest free descriptor, so few are far above the number in use.
    const last = Math.min(limit, 2 * used + SLICE);
    const end = Math.min(last, this.descriptor + SLICE);
    for (; this.descriptor < end; this.descriptor++) this.lookAt(this.descriptor);
    if (end < last) return 0;
    const ended = this.endSurplus();
    this.found = [];
    this.descriptor = 0;
    if (ended === 0) this.restsUntilMs = clock.now() + REST_MS;
    return ended;
  }

  private lookAt(descriptor: number): void {
    const { sockets, marks, port } = this.options;
    const socket = sockets.accepted(descriptor, port());
    if (socket === undefined || marks.has(marks.placeOf(socket))) return;
    this.found.push({ ...socket, owner: addressKey(socket.address) });
  }

  private endSurplus(): number {
    const { sockets, marks, threshold, trusts, onEnded, log } = this.options;
    const { found } = this;
    const kept = Math.floor(threshold * IDLE_PART);
    if (found.length <= kept) return 0;
    // A trusted proxy keeps connections for all of its clients, so its own come last.
    const [ofProxies = [], strangers = []] = [true, false].map((trusted) =>
      found.filter(({ address }) => trusts(address) === trusted),
    );
    const surplus = [
      ...surplusOf(strangers, Math.max(0, kept - ofProxies.length)),
      ...surplusOf(ofProxies, kept),
    ];
    // It may have become a WebSocket since it was looked at.
    const ending = surplus.filter((socket) => !marks.has(marks.placeOf(socket)));
    for (const socket of ending) sockets.end(socket);
    if (ending.length === 0) return 0;
    onEnded(ending.length);
    const [first] = ending;
    this.throttle.run('', (throttled) =>
      log.warn('Idle connections closed to make room', {
        bound: this.options.bound,
        closed: ending.length,
        kept: found.length - ending.length,
        address: first?.address,
        ...throttled,
      }),
    );
    return ending.length;
  }
}
