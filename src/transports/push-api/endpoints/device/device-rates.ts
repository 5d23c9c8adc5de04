import type { PushInstance } from '../../../../push/model/instance.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import { FairRateLimiter } from '../../../../runtime/fair-rate-limiter.ts';
import type { LogThrottle } from '../../../../runtime/log-throttle.ts';
import type { Log } from '../../../../runtime/ports.ts';
import { RateLimiter } from '../../../../runtime/rate-limiter.ts';
import type { Rate } from '../../../../runtime/token-bucket.ts';
import type { PushHead } from '../../call.ts';

/** What strangers may do per second from one client address; 0: as often as they like. */
export interface AddressLimits {
  /** Requests without a secret key, whatever they ask for. Each KiB of a device's body counts as another one. */
  readonly requestsPerSecond: number;
  /** Rows that they change in the store. */
  readonly rowsPerSecond: number;
  readonly reportsPerSecond: number;
}

/** What is counted, with the setting for one address and the one for all devices of an instance. */
const kinds = {
  requests: { address: 'requestsPerSecond', instance: 'deviceRequestsPerSecond' },
  rows: { address: 'rowsPerSecond', instance: 'deviceRowsPerSecond' },
  reports: { address: 'reportsPerSecond', instance: 'reportsPerSecond' },
} as const;

export type RateKind = keyof typeof kinds;

/** So many seconds' worth may come at once: many phones behind one address start an app at the same moment. */
const BURST_SECONDS = 60;

/** SDKs of devices wait as they like: 64 s at most. */
const RETRY_AFTER_SECONDS = 10;

type Client = Pick<PushHead, 'address' | 'addressKey'>;
type Limited = Pick<PushInstance, 'id' | 'number' | 'limits'>;

export interface DeviceRatesOptions {
  /** Read at each request. */
  readonly limits: () => AddressLimits;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
  readonly refusals: LogThrottle;
}

/**
 * Bounds how often devices, and whoever pretends to be one, do something: from one client address, and of one
 * instance from all addresses together, where those that did most lately are refused first. Refused requests get 429,
 * at which the SDKs of iOS and Android try again later and later. Source: push protocol, §3.7.
 */
export class DeviceRates {
  private readonly options: DeviceRatesOptions;
  private readonly byAddress = forEachKind(() => new RateLimiter<string>());
  private readonly byInstance = forEachKind(() => new FairRateLimiter<number>());

  constructor(options: DeviceRatesOptions) {
    this.options = options;
  }

  /** Counts something that costs so much for the address and for the instance, or refuses it. */
  refuse(kind: RateKind, client: Client, instance: Limited, cost = 1): PushRefusal | undefined {
    return (
      this.refuseAddress(kind, client, cost) ?? this.refuseInstance(kind, client, instance, cost)
    );
  }

  /** The same for the address alone. */
  refuseAddress(
    kind: RateKind,
    { address, addressKey }: Client,
    cost = 1,
  ): PushRefusal | undefined {
    const { limits, now, log, refusals } = this.options;
    const name = kinds[kind].address;
    const limit = limits()[name];
    const rate = rateOf(limit);
    const tokens = costIn(rate, cost);
    if (limit === 0 || this.byAddress[kind].take(addressKey, rate, now(), tokens)) return undefined;
    refusals.run(`${kind} from ${addressKey}`, (throttled) =>
      log.warn('Devices at one address are slowed down', {
        address,
        setting: `push.addressLimits.${name}`,
        limit,
        hint: 'if it is a proxy of yours, name it in trustedProxies',
        ...throttled,
      }),
    );
    return slowDown('from this address');
  }

  /** The same for the instance alone, where the addresses that took most lately are refused first. */
  refuseInstance(
    kind: RateKind,
    { address, addressKey }: Client,
    { id, number, limits }: Limited,
    cost = 1,
  ): PushRefusal | undefined {
    const { now, log, refusals } = this.options;
    const name = kinds[kind].instance;
    const limit = limits[name];
    const rate = rateOf(limit);
    const tokens = costIn(rate, cost);
    if (limit === 0 || this.byInstance[kind].take(number, addressKey, rate, now(), tokens)) {
      return undefined;
    }
    refusals.run(`${kind} of ${id}`, (throttled) =>
      log.warn('Devices of an instance are slowed down', {
        instance: id,
        address,
        setting: `limits.${name}`,
        limit,
        ...throttled,
      }),
    );
    return slowDown('for this instance');
  }
}

function forEachKind<Rates>(make: () => Rates): Readonly<Record<RateKind, Rates>> {
  return { requests: make(), rows: make(), reports: make() };
}

function rateOf(limit: number): Rate {
  return { perSecond: limit, burst: limit * BURST_SECONDS };
}

/** What costs more than all that may ever come at once must be possible now and then. */
function costIn({ burst }: Rate, cost: number): number {
  return Math.min(cost, burst);
}

function slowDown(whose: string): PushRefusal {
  return new PushRefusal(
    'rate-limited',
    `Too many requests ${whose} in quick succession`,
    RETRY_AFTER_SECONDS,
  );
}
