import type { PushRefusal } from '../../../push/refusal.ts';
import { stackOf } from '../../../runtime/error-code.ts';
import { LogThrottle, type Throttled } from '../../../runtime/logging/log-throttle.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { Rate } from '../../../runtime/rates/token-bucket.ts';
import type { TrustedProxies } from '../../../runtime/trusted-proxies.ts';
import type { PushBounds } from '../bounds.ts';
import type { Client } from '../call.ts';
import { statuses } from '../problems.ts';
import { pathForLog } from '../routes.ts';

/** Lines about what one client caused, and all clients together. */
const OF_CLIENT: Rate = { perSecond: 10, burst: 100 };
const OF_ALL: Rate = { perSecond: 100, burst: 1_000 };

/** Never set, unlike the system clock. */
const monotonic = { now: () => performance.now() };

export interface RequestLogOptions {
  readonly log: Log;
  readonly bounds: PushBounds;
  readonly proxies: TrustedProxies;
}

/** Logs what happens to requests and connections. Rates keep clients from filling the log. */
export class RequestLog {
  private readonly log: Log;
  private readonly bounds: PushBounds;
  private readonly proxies: TrustedProxies;
  private readonly ofClient = new LogThrottle(monotonic, OF_CLIENT);
  private readonly ofAll = new LogThrottle(monotonic, OF_ALL);
  private readonly limits = new LogThrottle(monotonic);

  constructor({ log, bounds, proxies }: RequestLogOptions) {
    this.log = log;
    this.bounds = bounds;
    this.proxies = proxies;
  }

  /** `request` is `undefined` if it could not be read. */
  refused(
    { problem, description }: PushRefusal,
    { address, addressKey }: Client,
    request?: { readonly method: string; readonly path: string },
  ): void {
    const { status } = statuses[problem];
    this.throttle(addressKey, (throttled) =>
      this.log[status < 500 ? 'info' : 'warn']('Push request refused', {
        address,
        ...(request && { method: request.method, path: pathForLog(request.path) }),
        status,
        why: description,
        ...throttled,
      }),
    );
  }

  failed({ method, path }: { readonly method: string; readonly path: string }, error: unknown) {
    this.log.error('Push request failed: internal error', {
      method,
      path: pathForLog(path),
      error: stackOf(error),
    });
  }

  connectionClosed(why: string, { address, addressKey }: Client): void {
    this.throttle(addressKey, (throttled) =>
      this.log.info(`Push connection closed: ${why}`, { address, ...throttled }),
    );
  }

  /** The address opens connections faster than it may. */
  connectionRefused({ address, addressKey }: Client): void {
    this.limits.run(`connecting ${addressKey}`, (throttled) =>
      this.log.warn('Push connections refused: the address connects too often', {
        address,
        setting: 'push.addressLimits.connectionsPerSecond',
        limit: this.bounds.connectionsPerSecond,
        ...this.proxyHint(address),
        ...throttled,
      }),
    );
  }

  /** The listener has reached its limit of connections, and the address has the most. */
  connectionEvicted({ address, addressKey }: Client): void {
    this.limits.run(`connections ${addressKey}`, (throttled) =>
      this.log.warn('Push connections closed: the limit of connections is reached', {
        address,
        setting: 'push.maxConnections',
        limit: this.bounds.connections,
        ...this.proxyHint(address),
        ...throttled,
      }),
    );
  }

  /** A request was refused, as its address or the instance of its backend has too much in progress. */
  overloaded({ address, addressKey }: Client, instance: number | undefined): void {
    const { requests, heldBytes } = this.bounds;
    const isBackend = instance !== undefined;
    const key = isBackend ? `requests of ${instance}` : `requests ${addressKey}`;
    const sender = isBackend ? 'backend' : 'address';
    this.limits.run(key, (throttled) =>
      this.log.warn(`Push requests refused: the ${sender} has too many in progress`, {
        address,
        requests,
        bytes: heldBytes,
        ...(isBackend ? {} : this.proxyHint(address)),
        ...throttled,
      }),
    );
  }

  private throttle(client: string, log: (throttled: Throttled) => void): void {
    this.ofClient.run(client, ({ notLogged = 0 }) => this.ofAll.run('', log, 1 + notLogged));
  }

  /** An address may be that of a proxy that `trustedProxies` does not name. */
  private proxyHint(address: string): { readonly hint?: string } {
    return this.proxies.trusts(address)
      ? {}
      : { hint: 'if this is your proxy, add it to trustedProxies' };
  }
}
