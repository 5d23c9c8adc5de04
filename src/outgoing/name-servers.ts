import { Resolver as NameServerClient } from 'node:dns/promises';
import { errorCode } from '../runtime/error-code.ts';
import { monotonicTimers } from '../runtime/system-timers.ts';
import { type FoundName, type Lookup, LookupFailed } from './resolve.ts';
import { candidatesOf, type SystemNames } from './system-names.ts';

export interface SystemLookupOptions {
  readonly names: SystemNames;
  /** Makes the client of one query; by default for the name servers in `/etc/resolv.conf`. */
  readonly openClient?: () => NameServerClient;
}

/** Timeout of the first try; it grows with each further one. */
const TRY_MS = 1_500;
const TRIES = 3;

/** How long an answer for one family waits for the other: some networks drop queries for IPv6. */
const OTHER_FAMILY_MS = 500;

/** Addresses of one name that are used; a name server may send thousands. */
const ADDRESSES_MAX = 64;

/** Codes for a name, or an address family of it, that does not exist. */
const NOT_FOUND = new Set<unknown>(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/**
 * Makes the lookup that uses `/etc/hosts` and the name servers of `/etc/resolv.conf`.
 *
 * Names that tenants choose must not be resolved by `getaddrinfo`, as `node:dns` `lookup` and `Bun.dns.lookup` do: it
 * blocks a thread of the runtime's pool, which has one per core, for up to 30 seconds and cannot be cancelled.
 * `Bun.dns.lookup` with `backend: 'c-ares'` needs no thread, but cannot be cancelled either, and never reads
 * `resolv.conf` again. `dns.Resolver` needs no thread and can be cancelled, which closes its sockets at once. It
 * ignores `/etc/hosts`, `search` and `ndots`, which `SystemNames` adds. Each query has a resolver of its own: making
 * one takes 0.1 ms and reads the current `resolv.conf`.
 *
 * Other sources of `nsswitch.conf` (mDNS, LDAP) are not used.
 */
export function createSystemLookup({
  names,
  openClient = () => new NameServerClient({ timeout: TRY_MS, tries: TRIES }),
}: SystemLookupOptions): Lookup {
  return async (host, signal) => {
    const { hosts, search, ndots } = names.current();
    const local = hosts.get(host) ?? loopbackOf(host);
    if (local !== undefined) return { addresses: local, keepMs: 0 };

    let failure: unknown = new LookupFailed('ENOTFOUND');
    for (const name of candidatesOf(host, { search, ndots })) {
      signal.throwIfAborted();
      try {
        return await askNameServers(openClient(), name, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!NOT_FOUND.has(errorCode(error))) failure = error;
      }
    }
    throw failure;
  };
}

/** Names below `localhost` are this machine; no name server is asked. Source: RFC 6761, 6.3. */
function loopbackOf(host: string): readonly string[] | undefined {
  return /(^|\.)localhost\.?$/.test(host) ? ['127.0.0.1', '::1'] : undefined;
}

/** Queries both address families at once. Throws an error with a `code` if neither has an address. */
async function askNameServers(
  client: NameServerClient,
  name: string,
  signal: AbortSignal,
): Promise<FoundName> {
  const cancel = () => client.cancel();
  signal.addEventListener('abort', cancel);
  let cancelWait: (() => void) | undefined;
  try {
    const queries = [
      client.resolve4(name, { ttl: true }),
      client.resolve6(name, { ttl: true }),
    ] as const;
    const answered = () => {
      cancelWait ??= monotonicTimers.after(OTHER_FAMILY_MS, cancel);
    };
    // Failures are read below.
    for (const query of queries) query.then(answered, () => undefined);
    return readAnswers(await Promise.allSettled(queries));
  } finally {
    cancelWait?.();
    signal.removeEventListener('abort', cancel);
  }
}

function readAnswers(
  answers: readonly PromiseSettledResult<readonly { address: string; ttl: number }[]>[],
): FoundName {
  const records = answers
    .flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    .slice(0, ADDRESSES_MAX);
  if (records.length > 0) {
    return {
      addresses: records.map(({ address }) => address),
      keepMs: 1_000 * Math.min(...records.map(({ ttl }) => ttl)),
    };
  }
  const failures = answers.flatMap((answer) =>
    answer.status === 'rejected' ? [answer.reason as unknown] : [],
  );
  throw (
    failures.find((failure) => !NOT_FOUND.has(errorCode(failure))) ?? new LookupFailed('ENOTFOUND')
  );
}
