import { lookup as systemLookup } from 'node:dns/promises';

/** Gives every address of a name, IPv4 and IPv6, or throws an error with a `code`. */
export type Lookup = (host: string) => Promise<readonly string[]>;

const lookupAll: Lookup = async (host) =>
  (await systemLookup(host, { all: true })).map(({ address }) => address);

/**
 * Looks names up, one question at a time per name: a name server that does not answer cannot pile up
 * questions, whoever gave up waiting in the meantime.
 */
export class Resolver {
  private readonly lookup: Lookup;
  private readonly asking = new Map<string, Promise<readonly string[]>>();

  constructor(lookup: Lookup = lookupAll) {
    this.lookup = lookup;
  }

  /**
   * The addresses to try, in order, IPv4 first: where IPv6 is announced but leads nowhere, which is common
   * in containers, it would eat the whole timeout. Throws as soon as `signal` is aborted.
   */
  async resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal.reason);
    signal.addEventListener('abort', abort);
    try {
      if (signal.aborted) abort();
      const addresses = await Promise.race([aborted.promise, this.ask(host)]);
      return addresses.toSorted((a, b) => Number(a.includes(':')) - Number(b.includes(':')));
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  private ask(host: string): Promise<readonly string[]> {
    const asked = this.asking.get(host);
    if (asked !== undefined) return asked;
    const answer = this.lookup(host).finally(() => this.asking.delete(host));
    this.asking.set(host, answer);
    return answer;
  }
}
