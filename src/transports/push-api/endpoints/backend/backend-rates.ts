import type { PushInstance } from '../../../../push/model/instance.ts';
import type { PushRefusal } from '../../../../push/refusal.ts';
import { RateLimiter } from '../../../../runtime/rate-limiter.ts';
import { perSecond } from '../../../../runtime/token-bucket.ts';
import { refuseOverRate, tooManyRequests } from '../request-rate.ts';

/** Bytes of the body of an invalid publish that cost as much as another request. */
const BYTES_PER_REQUEST = 1024;

type Limited = Pick<PushInstance, 'number' | 'limits'>;

/**
 * Limits the rates of a backend's requests other than publishes, and of its invalid publishes. Valid publishes have a
 * rate of their own.
 */
export class BackendRates {
  private readonly now: () => number;
  private readonly requests = new RateLimiter<number>();
  private readonly invalid = new RateLimiter<number>();

  constructor(now: () => number) {
    this.now = now;
  }

  /** Counts a request other than a publish, or refuses it. */
  refuse({ number, limits }: Limited): PushRefusal | undefined {
    return refuseOverRate(this.requests, {
      instance: number,
      limit: limits.backendRequestsPerSecond,
      nowMs: this.now(),
    });
  }

  /** Refuses a publish before it is read, if too many before it were invalid. */
  refusePublish({ number, limits }: Limited): PushRefusal | undefined {
    const { backendRequestsPerSecond: limit } = limits;
    if (limit === 0 || this.invalid.has(number, perSecond(limit), this.now())) return undefined;
    return tooManyRequests(limit);
  }

  /** Counts an invalid publish. Long bodies cost more, as they take longer to check. */
  countInvalid({ number, limits }: Limited, bodyBytes: number): void {
    const { backendRequestsPerSecond: limit } = limits;
    if (limit === 0) return;
    this.invalid.charge(
      number,
      perSecond(limit),
      this.now(),
      1 + Math.floor(bodyBytes / BYTES_PER_REQUEST),
    );
  }
}
