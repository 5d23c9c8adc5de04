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
  /** `undefined`: no limit. */
  private readonly connectionRate: Rate | undefined;
  private readonly frameRate: Rate | undefined;
  private readonly clock: Clock;
  private readonly connections = new RateLimiter<PackedAddress>();
  private readonly frames = new RateLimiter<PackedAddress>();
  /** Apart from frames: too many answers make clients wait, and do not refuse connections. */
  private readonly answers = new RateLimiter<PackedAddress>();

  /** `clock` must be monotonic. */
  constructor({ connectionsPerSecond, framesPerSecond }: AddressLimits, clock: Clock) {
    this.connectionRate = rateOf(connectionsPerSecond);
    this.frameRate = rateOf(framesPerSecond);
    this.clock = clock;
  }

  /** Counts a handshake; if the address may not connect now, returns the limit that forbids it. */
  refuse(address: PackedAddress): keyof AddressLimits | undefined {
    const { connectionRate, frameRate } = this;
    const key = keyOf(address);
    const nowMs = this.clock.now();
    if (connectionRate && !this.connections.take(key, connectionRate, nowMs)) {
      return 'connectionsPerSecond';
    }
    return frameRate && !this.frames.has(key, frameRate, nowMs) ? 'framesPerSecond' : undefined;
  }

  /** Whether a handshake of the address would be refused now. */
  wouldRefuse(address: PackedAddress): boolean {
    const { connectionRate, frameRate } = this;
    const key = keyOf(address);
    const nowMs = this.clock.now();
    const mayConnect = !connectionRate || this.connections.has(key, connectionRate, nowMs);
    return !mayConnect || (frameRate !== undefined && !this.frames.has(key, frameRate, nowMs));
  }

  /** Counts frames; `false` if the address has sent too many. */
  count(address: PackedAddress, frames: number): boolean {
    const { frameRate } = this;
    if (frameRate === undefined || frames === 0) return true;
    const key = keyOf(address);
    const nowMs = this.clock.now();
    this.frames.charge(key, frameRate, nowMs, frames);
    return this.frames.has(key, frameRate, nowMs);
  }

  /** Counts what the connections of an address were sent because they asked for it, in frames. */
  countAnswers(address: PackedAddress, frames: number): void {
    const { frameRate } = this;
    if (frameRate === undefined || frames === 0) return;
    this.answers.charge(keyOf(address), frameRate, this.clock.now(), frames);
  }

  /** Whether the connections of an address may be sent more. */
  mayBeAnswered(address: PackedAddress): boolean {
    const { frameRate } = this;
    return !frameRate || this.answers.has(keyOf(address), frameRate, this.clock.now());
  }
}

function rateOf(perSecond: number): Rate | undefined {
  return perSecond === 0 ? undefined : { perSecond, burst: BURST_SECONDS * perSecond };
}
