import { PushRefusal } from '../../../push/refusal.ts';
import type { RateLimiter } from '../../../runtime/rate-limiter.ts';
import { perSecond } from '../../../runtime/token-bucket.ts';

const RETRY_AFTER_SECONDS = 1;

/** The rates of one kind of request, by the number of the instance. */
export type InstanceRates = RateLimiter<number>;

interface InstanceRequest {
  readonly instance: number;
  /** Per second. 0: no limit. */
  readonly limit: number;
  readonly nowMs: number;
}

/** Counts a request of an instance, or refuses it. */
export function refuseOverRate(
  rates: InstanceRates,
  { instance, limit, nowMs }: InstanceRequest,
): PushRefusal | undefined {
  if (limit === 0 || rates.take(instance, perSecond(limit), nowMs)) return undefined;
  return tooManyRequests(limit);
}

/** `limit` is per second. */
export function tooManyRequests(limit: number): PushRefusal {
  return new PushRefusal(
    'rate-limited',
    `Too many requests in quick succession: at most ${limit} per second`,
    RETRY_AFTER_SECONDS,
  );
}
