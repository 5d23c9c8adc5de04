import type { Clock } from '../../runtime/ports.ts';
import { RateLimiter } from '../../runtime/rate-limiter.ts';
import type { Rate } from '../../runtime/token-bucket.ts';
import { keyOf, type PackedAddress } from './packed-address.ts';

/** What all connections of one client address may do together, per second; 0: as much as they like. */
export interface AddressLimits {
  readonly connectionsPerSecond: number;
  readonly framesPerSecond: number;
}

/** So many seconds' worth may come at once: all clients of a network or a proxy come back at the same moment. */
const BURST_SECONDS = 60;

/**
 * Bounds what one client address does through one connection after the other: its limits of a connection begin anew with
 * each. Frames are counted when the connection has paid for them by waiting, and those of the rest at its end.
 */
export class AddressRates {
  private readonly limits: AddressLimits;
  private readonly clock: Clock;
  private readonly connections = new RateLimiter<PackedAddress>();
  private readonly frames = new RateLimiter<PackedAddress>();

  /** `clock` must be monotonic. */
  constructor(limits: AddressLimits, clock: Clock) {
    this.limits = limits;
    this.clock = clock;
  }

  /** Counts a handshake; where the address may not connect now, gives the limit that says so. */
  refuse(address: PackedAddress): keyof AddressLimits | undefined {
    const { connectionsPerSecond, framesPerSecond } = this.limits;
    const key = keyOf(address);
    const nowMs = this.clock.now();
    if (
      connectionsPerSecond > 0 &&
      !this.connections.take(key, rateOf(connectionsPerSecond), nowMs)
    ) {
      return 'connectionsPerSecond';
    }
    return framesPerSecond > 0 && !this.frames.has(key, rateOf(framesPerSecond), nowMs)
      ? 'framesPerSecond'
      : undefined;
  }

  /** Counts frames; `false` where the address has sent more than it may. */
  count(address: PackedAddress, frames: number): boolean {
    const { framesPerSecond } = this.limits;
    if (framesPerSecond === 0 || frames === 0) return true;
    const key = keyOf(address);
    const rate = rateOf(framesPerSecond);
    const nowMs = this.clock.now();
    this.frames.charge(key, rate, nowMs, frames);
    return this.frames.has(key, rate, nowMs);
  }
}

function rateOf(perSecond: number): Rate {
  return { perSecond, burst: BURST_SECONDS * perSecond };
}
