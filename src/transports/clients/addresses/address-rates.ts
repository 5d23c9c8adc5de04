import type { Clock } from '../../../runtime/ports.ts';
import { RateLimiter } from '../../../runtime/rates/rate-limiter.ts';
import type { Rate } from '../../../runtime/rates/token-bucket.ts';
import { keyOf, type PackedAddress } from './packed-address.ts';

/** The limits of all connections of one client address together, per second; 0: no limit. */
export interface AddressLimits {
  readonly connectionsPerSecond: number;
  readonly framesPerSecond: number;
}

/** The burst, in seconds' worth: all clients of a network or a proxy may reconnect at the same moment. */
const BURST_SECONDS = 60;

/**
 * Limits what one client address does over all of its connections, because the limits of a connection start anew with
 * each one. Frames, and answers as `AnswerLimit` weighs them, are counted when a connection pays for them, and the rest
 * when it closes.
 */
export class AddressRates {
  private readonly limits: AddressLimits;
  private readonly clock: Clock;
  private readonly connections = new RateLimiter<PackedAddress>();
  private readonly frames = new RateLimiter<PackedAddress>();
  /** Apart from frames: too many answers make clients wait, and do not refuse connections. */
  private readonly answers = new RateLimiter<PackedAddress>();

  /** `clock` must be monotonic. */
  constructor(limits: AddressLimits, clock: Clock) {
    this.limits = limits;
    this.clock = clock;
  }

  /** Counts a handshake; if the address may not connect now, returns the limit that forbids it. */
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

  /** Whether a handshake of the address would be refused now. */
  wouldRefuse(address: PackedAddress): boolean {
    const { connectionsPerSecond, framesPerSecond } = this.limits;
    const key = keyOf(address);
    const nowMs = this.clock.now();
    return (
      (connectionsPerSecond > 0 &&
        !this.connections.has(key, rateOf(connectionsPerSecond), nowMs)) ||
      (framesPerSecond > 0 && !this.frames.has(key, rateOf(framesPerSecond), nowMs))
    );
  }

  /** Counts frames; `false` if the address has sent too many. */
  count(address: PackedAddress, frames: number): boolean {
    const { framesPerSecond } = this.limits;
    if (framesPerSecond === 0 || frames === 0) return true;
    const key = keyOf(address);
    const rate = rateOf(framesPerSecond);
    const nowMs = this.clock.now();
    this.frames.charge(key, rate, nowMs, frames);
    return this.frames.has(key, rate, nowMs);
  }

  /** Counts what the connections of an address were sent because they asked for it, in frames. */
  countAnswers(address: PackedAddress, frames: number): void {
    const { framesPerSecond } = this.limits;
    if (framesPerSecond === 0 || frames === 0) return;
    this.answers.charge(keyOf(address), rateOf(framesPerSecond), this.clock.now(), frames);
  }

  /** Whether the connections of an address may be sent more. */
  mayBeAnswered(address: PackedAddress): boolean {
    const { framesPerSecond } = this.limits;
    if (framesPerSecond === 0) return true;
    return this.answers.has(keyOf(address), rateOf(framesPerSecond), this.clock.now());
  }
}

function rateOf(perSecond: number): Rate {
  return { perSecond, burst: BURST_SECONDS * perSecond };
}
