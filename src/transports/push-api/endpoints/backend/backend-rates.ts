import type { PushInstance } from '../../../../push/model/instance.ts';
import { type ShareRate, unshared } from '../../../../push/rate-exchange.ts';
import type { PushRefusal } from '../../../../push/refusal.ts';
import { InstanceRates } from '../request-rate.ts';

/** Bytes of the body of an invalid publish that cost as much as another request. */
const BYTES_PER_REQUEST = 1024;

type Limited = Pick<PushInstance, 'number' | 'limits'>;

/**
 * Limits the rates of a backend's requests other than publishes, and of its invalid publishes. Valid publishes have a
 * rate of their own.
 */
export class BackendRates {
  private readonly now: () => number;
  private readonly requests: InstanceRates;
  private readonly invalid: InstanceRates;

  constructor(now: () => number, share: ShareRate = unshared) {
    this.now = now;
    this.requests = new InstanceRates('backend requests', share);
    this.invalid = new InstanceRates('invalid publishes', share);
  }

  /** Counts a request other than a publish, or refuses it. */
  refuse(instance: Limited): PushRefusal | undefined {
    return this.requests.refuse(this.requestOf(instance));
  }

  /** Refuses a publish before it is read, if too many before it were invalid. */
  refusePublish(instance: Limited): PushRefusal | undefined {
    return this.invalid.refuseUncounted(this.requestOf(instance));
  }

  /** Counts an invalid publish. Long bodies cost more, as they take longer to check. */
  countInvalid(instance: Limited, bodyBytes: number): void {
    this.invalid.count(this.requestOf(instance), 1 + Math.floor(bodyBytes / BYTES_PER_REQUEST));
  }

  private requestOf({ number, limits }: Limited) {
    return { instance: number, limit: limits.backendRequestsPerSecond, nowMs: this.now() };
  }
}
