import type { ReportTaken, ShareRate } from '../../../push/rate-exchange.ts';
import { PushRefusal } from '../../../push/refusal.ts';
import { RateLimiter } from '../../../runtime/rates/rate-limiter.ts';
import { perSecond } from '../../../runtime/rates/token-bucket.ts';

const RETRY_AFTER_SECONDS = 1;

/** The longest wait that an answer asks for. */
const RETRY_AFTER_SECONDS_MAX = 600;

interface InstanceRequest {
  readonly instance: number;
  /** Per second. 0: no limit. */
  readonly limit: number;
  readonly nowMs: number;
}

/** The rates of one kind of request, by the number of the instance. */
export class InstanceRates {
  private readonly limiter = new RateLimiter<number>();
  private readonly report: ReportTaken;

  constructor(kind: string, share: ShareRate) {
    this.report = share(kind, this.limiter);
  }

  /** Counts a request, or refuses it. */
  refuse({ instance, limit, nowMs }: InstanceRequest): PushRefusal | undefined {
    if (limit === 0) return undefined;
    const rate = perSecond(limit);
    if (!this.limiter.take(instance, rate, nowMs)) return tooManyRequests(limit);
    this.report(instance, rate, 1);
    return undefined;
  }

  /** Refuses a request whose cost is not known yet. */
  refuseUncounted({ instance, limit, nowMs }: InstanceRequest): PushRefusal | undefined {
    if (limit === 0) return undefined;
    const left = this.limiter.left(instance, perSecond(limit), nowMs);
    return left >= 1 ? undefined : tooManyRequests(limit, Math.ceil((1 - left) / limit));
  }

  /** Counts the cost of a request that was served. */
  count({ instance, limit, nowMs }: InstanceRequest, cost: number): void {
    if (limit === 0) return;
    const rate = perSecond(limit);
    this.limiter.charge(instance, rate, nowMs, cost);
    this.report(instance, rate, cost);
  }
}

/** `limit` is per second. */
function tooManyRequests(limit: number, waitSeconds = RETRY_AFTER_SECONDS): PushRefusal {
  return new PushRefusal(
    'rate-limited',
    `Too many requests in quick succession: at most ${limit} per second`,
    Math.min(RETRY_AFTER_SECONDS_MAX, waitSeconds),
  );
}
