import type { Log } from '../../../channels/ports.ts';
import type { PushInstance } from '../../../push/instance.ts';
import { Refusal } from '../../../push/refusal.ts';
import { KeyedRates } from '../../../runtime/keyed-rates.ts';
import type { LogThrottle } from '../../../runtime/log-throttle.ts';
import type { PushHead } from '../call.ts';

/** What strangers may do per second from one client address; 0: as often as they like. */
export interface AddressLimits {
  /** Requests of devices and pages. Each KiB of a body counts as another one. */
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

export interface DeviceRatesOptions {
  /** Read at each request. */
  readonly limits: () => AddressLimits;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
  readonly refusals: LogThrottle;
}

/**
 * Bounds how often devices, and whoever pretends to be one, do something: from one client address, and of one
 * instance from all addresses together. Refused requests get 429, at which the SDKs of iOS and Android try again
 * later and later. Source: push protocol, §3.7.
 */
export class DeviceRates {
  private readonly options: DeviceRatesOptions;
  private readonly byAddress = ratesOf<string>();
  private readonly byInstance = ratesOf<number>();

  constructor(options: DeviceRatesOptions) {
    this.options = options;
  }

  /** Counts something that costs so much, or refuses it. Without an instance, it counts for the address alone. */
  refuse(
    kind: RateKind,
    head: Pick<PushHead, 'address' | 'addressKey'>,
    instance: Pick<PushInstance, 'id' | 'number' | 'limits'> | undefined,
    cost = 1,
  ): Refusal | undefined {
    const { limits, log, refusals } = this.options;
    const ofAddress = kinds[kind].address;
    const addressLimit = limits()[ofAddress];
    if (!this.take(this.byAddress[kind], head.addressKey, addressLimit, cost)) {
      refusals.run(`${kind} from ${head.addressKey}`, (throttled) =>
        log.warn('Devices at one address are slowed down', {
          address: head.address,
          setting: `push.addressLimits.${ofAddress}`,
          limit: addressLimit,
          hint: 'if it is a proxy of yours, name it in trustedProxies',
          ...throttled,
        }),
      );
      return slowDown('from this address');
    }
    if (instance === undefined) return undefined;
    const ofInstance = kinds[kind].instance;
    const instanceLimit = instance.limits[ofInstance];
    if (!this.take(this.byInstance[kind], instance.number, instanceLimit, cost)) {
      refusals.run(`${kind} of ${instance.id}`, (throttled) =>
        log.warn('Devices of an instance are slowed down', {
          instance: instance.id,
          setting: `limits.${ofInstance}`,
          limit: instanceLimit,
          ...throttled,
        }),
      );
      return slowDown('for this instance');
    }
    return undefined;
  }

  private take<Key>(rates: KeyedRates<Key>, key: Key, limit: number, cost: number): boolean {
    if (limit === 0) return true;
    const burst = limit * BURST_SECONDS;
    // What costs more than all that may ever come at once must be possible now and then.
    return rates.take(key, { perSecond: limit, burst }, this.options.now(), Math.min(cost, burst));
  }
}

function ratesOf<Key>(): Readonly<Record<RateKind, KeyedRates<Key>>> {
  return { requests: new KeyedRates(), rows: new KeyedRates(), reports: new KeyedRates() };
}

function slowDown(whose: string): Refusal {
  return new Refusal(
    'rate-limited',
    `Too many requests ${whose} in quick succession`,
    RETRY_AFTER_SECONDS,
  );
}
