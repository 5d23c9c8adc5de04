import type { PushInstance } from '../../../../push/model/instance.ts';
import { type ReportTaken, type ShareRate, unshared } from '../../../../push/rate-exchange.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import type { LogThrottle } from '../../../../runtime/logging/log-throttle.ts';
import type { Log } from '../../../../runtime/ports.ts';
import { FairRateLimiter } from '../../../../runtime/rates/fair-rate-limiter.ts';
import { RateLimiter } from '../../../../runtime/rates/rate-limiter.ts';
import type { Rate } from '../../../../runtime/rates/token-bucket.ts';
import type { Client } from '../../call.ts';

/** Limits per second for clients without a secret key at one address. 0: no limit. */
export interface DeviceAddressLimits {
  /** All requests. Each KiB of a device's body counts as another request. */
  readonly requestsPerSecond: number;
  /** Changed rows in the store. */
  readonly rowsPerSecond: number;
  readonly reportsPerSecond: number;
}

/** What is limited, with the setting for one address and the one for all devices of an instance. */
const kinds = {
  requests: { address: 'requestsPerSecond', instance: 'deviceRequestsPerSecond' },
  rows: { address: 'rowsPerSecond', instance: 'deviceRowsPerSecond' },
  reports: { address: 'reportsPerSecond', instance: 'reportsPerSecond' },
} as const;

export type RateKind = keyof typeof kinds;

/** The burst, in seconds of the rate: many phones behind one address may start an app at the same moment. */
const BURST_SECONDS = 60;

/** The SDKs ignore it and wait at most 64 s. */
const RETRY_AFTER_SECONDS = 10;

type Limited = Pick<PushInstance, 'id' | 'number' | 'limits'>;

export interface DeviceRatesOptions {
  /** Read at each request. */
  readonly limits: () => DeviceAddressLimits;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
  readonly logThrottle: LogThrottle;
  /** For the rates of instances. */
  readonly shareRate?: ShareRate;
}

/**
 * Limits the rates of devices, and of anybody who pretends to be one: for each client address, and for each instance
 * over all addresses, where the addresses with the most recent activity are refused first. Refused requests get 429,
 * after which the SDKs of iOS and Android back off. Source: push protocol, §3.7.
 */
export class DeviceRates {
  private readonly options: DeviceRatesOptions;
  private readonly byAddress = forEachKind(() => new RateLimiter<string>());
  private readonly byInstance = forEachKind(() => new FairRateLimiter<number>());
  private readonly report: Readonly<Record<RateKind, ReportTaken>>;

  constructor(options: DeviceRatesOptions) {
    this.options = options;
    const { shareRate = unshared } = options;
    this.report = forEachKind((kind) => shareRate(`device ${kind}`, this.byInstance[kind]));
  }

  /** Counts a cost towards the rates of the address and of the instance, or refuses it. */
  refuse(kind: RateKind, client: Client, instance: Limited, cost = 1): PushRefusal | undefined {
    return (
      this.refuseAddress(kind, client, cost) ?? this.refuseInstance(kind, client, instance, cost)
    );
  }

  /** Counts a cost towards the rate of the address only, or refuses it. */
  refuseAddress(
    kind: RateKind,
    { address, addressKey }: Client,
    cost = 1,
  ): PushRefusal | undefined {
    const { limits, now, log, logThrottle } = this.options;
    const name = kinds[kind].address;
    const limit = limits()[name];
    const rate = rateOf(limit);
    const tokens = costIn(rate, cost);
    if (limit === 0 || this.byAddress[kind].take(addressKey, rate, now(), tokens)) return undefined;
    logThrottle.run(`${kind} from ${addressKey}`, (throttled) =>
      log.warn('Requests of devices refused: too many from one address', {
        address,
        setting: `push.addressLimits.${name}`,
        limit,
        hint: 'if this is your proxy, add it to trustedProxies',
        ...throttled,
      }),
    );
    return tooManyRequests('from this address');
  }

  /** Counts a cost that is only known afterwards towards the rate of the address. */
  charge(kind: RateKind, { addressKey }: Client, cost: number): void {
    const { limits, now } = this.options;
    const limit = limits()[kinds[kind].address];
    const rate = rateOf(limit);
    if (limit > 0) this.byAddress[kind].charge(addressKey, rate, now(), costIn(rate, cost));
  }

  /** Counts a cost towards the rate of the instance only, or refuses it. */
  refuseInstance(
    kind: RateKind,
    { address, addressKey }: Client,
    { id, number, limits }: Limited,
    cost = 1,
  ): PushRefusal | undefined {
    const { now, log, logThrottle } = this.options;
    const name = kinds[kind].instance;
    const limit = limits[name];
    const rate = rateOf(limit);
    const tokens = costIn(rate, cost);
    if (limit === 0) return undefined;
    if (this.byInstance[kind].take({ group: number, member: addressKey }, rate, now(), tokens)) {
      this.report[kind](number, rate, tokens);
      return undefined;
    }
    logThrottle.run(`${kind} of ${id}`, (throttled) =>
      log.warn('Requests of devices refused: too many for the instance', {
        instance: id,
        address,
        setting: `limits.${name}`,
        limit,
        ...throttled,
      }),
    );
    return tooManyRequests('for this instance');
  }
}

function forEachKind<Rates>(make: (kind: RateKind) => Rates): Readonly<Record<RateKind, Rates>> {
  return { requests: make('requests'), rows: make('rows'), reports: make('reports') };
}

function rateOf(limit: number): Rate {
  return { perSecond: limit, burst: limit * BURST_SECONDS };
}

/** A cost above the burst counts as the burst, so that it is possible at all. */
function costIn({ burst }: Rate, cost: number): number {
  return Math.min(cost, burst);
}

function tooManyRequests(whose: string): PushRefusal {
  return new PushRefusal(
    'rate-limited',
    `Too many requests ${whose} in quick succession`,
    RETRY_AFTER_SECONDS,
  );
}
