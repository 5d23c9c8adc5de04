import { Resolver as NameServerClient } from 'node:dns/promises';
import type { FoundName, Lookup } from './resolve.ts';
import { candidatesOf, type SystemNames } from './system-names.ts';

export interface SystemLookupOptions {
  readonly names: SystemNames;
  /** Makes what asks one question; by default of the name servers in `/etc/resolv.conf`. */
  readonly openClient?: () => NameServerClient;
}

/** The first wait for a name server; it grows with each try. */
const TRY_MS = 1_500;
const TRIES = 3;

/** How long an answer for one family waits for the other: some networks swallow questions for IPv6. */
const OTHER_FAMILY_MS = 500;

/** Addresses of one name that are looked at; a name server may send thousands. */
const ADDRESSES_MAX = 64;

/** What a name server says of a name, or of one family of addresses, that it knows not to exist. */
const NOT_FOUND = new Set<unknown>(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** A name that nobody knows. */
class NameNotFound extends Error {
  override readonly name = 'NameNotFound';
  readonly code = 'ENOTFOUND';
}

/**
 * Makes the lookup that asks `/etc/hosts` and the name servers of `/etc/resolv.conf`.
 *
 * Names that tenants choose must not be resolved by `getaddrinfo`, which `node:dns` `lookup` and
 * `Bun.dns.lookup` use: it holds a thread of the runtime's pool, of which there are as many as cores, until the name
 * server has answered or 10 to 30 seconds are over, and nothing can call it off. `Bun.dns.lookup` with
 * `backend: 'c-ares'` needs no thread, but cannot be called off either, and never reads `resolv.conf` again.
 * `dns.Resolver` needs no thread and can be called off, which closes its sockets at once. It knows neither
 * `/etc/hosts` nor `search` and `ndots`, which `SystemNames` adds. Each question has a resolver of its own: making
 * one takes 0.1 ms and reads `resolv.conf` as it is now.
 *
 * Other sources of `nsswitch.conf` (mDNS, LDAP) are not asked.
 */
export function createSystemLookup({
  names,
  openClient = () => new NameServerClient({ timeout: TRY_MS, tries: TRIES }),
}: SystemLookupOptions): Lookup {
  return async (host, signal) => {
    const { hosts, search, ndots } = names.current();
    const local = hosts.get(host) ?? loopbackOf(host);
    if (local !== undefined) return { addresses: local, keepMs: 0 };

    let failure: unknown = new NameNotFound();
    for (const name of candidatesOf(host, { search, ndots })) {
      signal.throwIfAborted();
      try {
        return await askNameServers(openClient(), name, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!NOT_FOUND.has(codeOf(error))) failure = error;
      }
    }
    throw failure;
  };
}

/** Names below `localhost` are this machine, and no name server's. Source: RFC 6761, 6.3. */
function loopbackOf(host: string): readonly string[] | undefined {
  return /(^|\.)localhost\.?$/.test(host) ? ['127.0.0.1', '::1'] : undefined;
}

/** Asks for both families at once. Throws an error with a `code` where neither has an address. */
async function askNameServers(
  client: NameServerClient,
  name: string,
  signal: AbortSignal,
): Promise<FoundName> {
  const cancel = () => client.cancel();
  signal.addEventListener('abort', cancel);
  let waiting: NodeJS.Timeout | undefined;
  try {
    const questions = [
      client.resolve4(name, { ttl: true }),
      client.resolve6(name, { ttl: true }),
    ] as const;
    const answered = () => {
      waiting ??= setTimeout(cancel, OTHER_FAMILY_MS);
    };
    // A failure is read below.
    for (const question of questions) question.then(answered, () => undefined);
    return readAnswers(await Promise.allSettled(questions));
  } finally {
    clearTimeout(waiting);
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
  throw failures.find((failure) => !NOT_FOUND.has(codeOf(failure))) ?? new NameNotFound();
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
