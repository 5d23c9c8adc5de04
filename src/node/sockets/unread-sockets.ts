import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import { LogThrottle } from '../../runtime/logging/log-throttle.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import type { KernelSockets, UnreadSocket } from './kernel-sockets.ts';

/** A connection for which the kernel holds less is left alone. */
const LEAST_BYTES = 8_192;

/** Connections are ended until this part of the bound is left. */
const LEFT_AFTER_ENDING = 3 / 4;

/** The pause after a search that found nothing to end. Milliseconds. */
const REST_MS = 100;

const MIB = 1_048_576;

export interface UnreadSocketsOptions {
  readonly sockets: Pick<KernelSockets, 'unread' | 'abort'>;
  /** What the kernel holds for all sockets. Takes 20 µs. */
  readonly heldBytes: () => number;
  /** What it may hold. */
  readonly bytesMax: number;
  /** The number that no descriptor in use exceeds. */
  readonly descriptors: () => number;
  /** Returns a function that tells whose a connection is. Called once for each search. */
  readonly owners: () => (socket: UnreadSocket) => string;
  /** Called for each connection that is about to end. */
  readonly onEnding: (socket: UnreadSocket) => void;
  readonly log: Log;
  /** A monotonic clock. */
  readonly clock: Clock;
}

/**
 * Ends connections whose clients do not read while the kernel holds too much for all of them. What it holds counts as memory of
 * the container, up to 50 KiB of each connection, and the runtime does not know of it: it begins to count once the kernel takes
 * no more. No bound of a socket can be lower, because the kernel fills the last packet up.
 */
export class UnreadSockets {
  private readonly options: UnreadSocketsOptions;
  private readonly throttle: LogThrottle;
  private restsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: UnreadSocketsOptions) {
    this.options = options;
    this.throttle = new LogThrottle(options.clock);
  }

  /** Must be called after much was sent, and regularly. Looks at each connection only if the kernel holds too much. */
  check(): void {
    const { heldBytes, bytesMax, clock } = this.options;
    const held = heldBytes();
    if (held <= bytesMax || clock.now() < this.restsUntilMs) return;
    const ended = this.endUnread(held);
    if (ended === 0) this.restsUntilMs = clock.now() + REST_MS;
  }

  /** Ends those with most, of the owner with most. Returns their number. */
  private endUnread(heldBytes: number): number {
    const { sockets, bytesMax, owners, onEnding, log } = this.options;
    const byOwner = Map.groupBy(this.find(), owners());
    const budget = new FairBudget(bytesMax * LEFT_AFTER_ENDING);
    for (const [owner, found] of byOwner) {
      found.sort((one, other) => one.bytes - other.bytes);
      for (const { bytes } of found) budget.add(owner, bytes);
    }
    let left = heldBytes;
    let ended = 0;
    let first: UnreadSocket | undefined;
    while (left > budget.capacity) {
      const owner = budget.largestOwner();
      const socket = owner === undefined ? undefined : byOwner.get(owner)?.pop();
      if (owner === undefined || socket === undefined) break;
      budget.release(owner, socket.bytes);
      left -= socket.bytes;
      onEnding(socket);
      sockets.abort(socket);
      first ??= socket;
      ended++;
    }
    if (first === undefined) return 0;
    const { address } = first;
    const heldMiB = Math.ceil(heldBytes / MIB);
    const allowedMiB = Math.floor(bytesMax / MIB);
    this.throttle.run('', (throttled) =>
      log.warn(
        'Connections closed: their clients do not read, and hold too much memory of the kernel',
        {
          ...{ closed: ended, heldMiB, allowedMiB, address, ...throttled },
        },
      ),
    );
    return ended;
  }

  private find(): UnreadSocket[] {
    const { sockets, descriptors } = this.options;
    return Array.from({ length: descriptors() }, (_, descriptor) => descriptor).flatMap(
      (descriptor) => sockets.unread(descriptor, LEAST_BYTES) ?? [],
    );
  }
}
