import { peerAddress } from '../runtime/listen-host.ts';
import type { Clock } from '../runtime/ports.ts';
import type { TrustedProxies } from '../runtime/trusted-proxies.ts';

/** The interval of the warning about unnamed proxies. Milliseconds. */
const HINT_MS = 60_000;

interface HintLog {
  warn(message: string, fields: Readonly<Record<string, string>>): void;
}

export interface ClientAddressesOptions {
  /** The host of the listener. */
  readonly host: string;
  readonly proxies: TrustedProxies;
  readonly log: HintLog;
  /** Monotonic. */
  readonly clock: Clock;
}

/** Finds the address of the client behind a request. Warns about proxies that are not in `trustedProxies`: all of their clients count as one. */
export class ClientAddresses {
  private readonly options: ClientAddressesOptions;
  private hintAfterMs = Number.NEGATIVE_INFINITY;

  constructor(options: ClientAddressesOptions) {
    this.options = options;
  }

  /** The other end of a connection of the listener; `given`: what the runtime says. */
  peerOf(given: { readonly address: string } | null): string {
    return peerAddress(this.options.host, given?.address);
  }

  /** Returns the address of the client; `peer` is the other end of its connection. */
  of(peer: string, headers: Headers): string {
    const { proxies } = this.options;
    if (!proxies.trusts(peer)) {
      this.hint(peer, headers);
      return peer;
    }
    return proxies.clientOf(peer, {
      xForwardedFor: headers.get('x-forwarded-for') ?? undefined,
      forwarded: headers.get('forwarded') ?? undefined,
    });
  }

  private hint(peer: string, headers: Headers): void {
    const { clock, log } = this.options;
    const nowMs = clock.now();
    if (nowMs < this.hintAfterMs) return;
    if (!headers.has('x-forwarded-for') && !headers.has('forwarded')) return;
    this.hintAfterMs = nowMs + HINT_MS;
    log.warn(
      'Clients come through a proxy that trustedProxies does not name: limits count them as one',
      {
        address: peer,
        setting: 'trustedProxies',
      },
    );
  }
}
