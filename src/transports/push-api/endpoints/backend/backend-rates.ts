import type { PushInstance } from '../../../../push/model/instance.ts';
import type { PushRefusal } from '../../../../push/refusal.ts';
import { RateLimiter } from '../../../../runtime/rate-limiter.ts';
import { perSecond } from '../../../../runtime/token-bucket.ts';
import { refuseOverRate, tooOften } from '../request-rate.ts';

/** Bytes of a body that broke a rule which cost as much as another request. */
const BYTES_PER_REQUEST = 1024;

type Limited = Pick<PushInstance, 'number' | 'limits'>;

/**
 * Bounds how often a backend asks for anything but to publish, and how often it publishes what breaks a rule. Publishes
 * that break none have a rate of their own, so neither of the two stops them.
 */
export class BackendRates {
  private readonly now: () => number;
  private readonly requests = new RateLimiter<number>();
  private readonly broken = new RateLimiter<number>();

  constructor(now: () => number) {
    this.now = now;
  }

  /** Counts a request that is no publish, or refuses it. */
  refuse({ number, limits }: Limited): PushRefusal | undefined {
    return refuseOverRate(this.requests, number, limits.backendRequestsPerSecond, this.now());
  }

  /** Refuses a publish that nobody has read yet, where too many before it broke a rule. */
  refusePublish({ number, limits }: Limited): PushRefusal | undefined {
    const { backendRequestsPerSecond: limit } = limits;
    if (limit === 0 || this.broken.has(number, perSecond(limit), this.now())) return undefined;
    return tooOften(limit);
  }

  /** Counts a publish that broke a rule: to find that out costs the more the longer its body is. */
  countBroken({ number, limits }: Limited, bodyBytes: number): void {
    const { backendRequestsPerSecond: limit } = limits;
    if (limit === 0) return;
    this.broken.charge(
      number,
      perSecond(limit),
      this.now(),
      1 + Math.floor(bodyBytes / BYTES_PER_REQUEST),
    );
  }
}
