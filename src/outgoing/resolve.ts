import { FairBudget } from '../runtime/fairness/fair-budget.ts';
import type { Timers } from '../runtime/ports.ts';
import { Recent } from '../runtime/recent.ts';

/** The addresses of a name, IPv4 and IPv6. */
export interface FoundName {
  readonly addresses: readonly string[];
  /** The shortest time to live. */
  readonly keepMs: number;
}

/**
 * Looks a name up, or throws an error with a `code`. It must not block threads or other shared resources while it waits,
 * and must end when `signal` is aborted.
 */
export type Lookup = (host: string, signal: AbortSignal) => Promise<FoundName>;

export interface ResolverOptions {
  readonly lookup: Lookup;
  /** Timers whose clock never goes back. */
  readonly timers: Timers;
  /** A query of this owner was refused or ended because too many are open. */
  readonly onRefused?: (owner: string) => void;
}

/** The owner of a lookup, and the signal that aborts it. */
export interface LookupContext {
  /** The owner, which is the same for all names of a tenant. */
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** Timeout of a query. It runs to its end even if all callers gave up, because a failure is cached, too. */
const QUERY_MS_MAX = 5_000;

/** Open queries. Each has one or two sockets. */
const QUERIES_MAX = 256;

/** Open queries of one owner. */
const QUERIES_PER_OWNER_MAX = 64;

/** The limit of the time for which an answer is cached. */
const KEEP_MS_MAX = 30_000;

/** How long a failure is cached. */
const FAILURE_MS = 5_000;

/** Names in the cache; the least recently used are evicted. */
const CACHED_MAX = 2_000;

/** A name was not resolved; `code` is the reason in a few words. */
export class LookupFailed extends Error {
  override readonly name = 'LookupFailed';
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** A query that was refused, or aborted in favour of others. */
class TooManyQueries extends LookupFailed {
  constructor() {
    super('too many names are being looked up');
  }
}

interface Query {
  readonly owner: string;
  readonly answer: Promise<readonly string[]>;
  end(why: LookupFailed): void;
}

/** A name in the cache: its addresses, or why there are none. */
type Cached = { readonly untilMs: number } & (
  | { readonly addresses: readonly string[] }
  | { readonly failure: unknown }
);

/**
 * Resolves the names that tenants choose. There is one for the whole process, so its bounds hold for all of it.
 *
 * Open queries are shared fairly between owners: at the limit, the owner with the most loses its newest query to one
 * with fewer. Answers are cached for their time to live, but no longer than 30 seconds, and failures for 5 seconds.
 */
export class Resolver {
  /** Queries that were refused or ended because too many were open, since the start. */
  refusals = 0;
  private readonly options: ResolverOptions;
  private readonly budget = new FairBudget(QUERIES_MAX);
  /** By owner and name, the oldest first. Owners share no query, since one may lose its own. */
  private readonly queries = new Map<string, Query>();
  /** By name, the least recently used first. */
  private readonly cache = new Recent<string, Cached>(CACHED_MAX);

  constructor(options: ResolverOptions) {
    this.options = options;
  }

  /** Open queries. */
  get open(): number {
    return this.queries.size;
  }

  /**
   * The addresses in the order in which to try them, IPv4 first: where IPv6 is announced but not routed, which is common
   * in containers, it would use up the whole timeout. Throws an error with a `code`, or the signal's reason once that
   * is aborted.
   */
  async resolve(host: string, { owner, signal }: LookupContext): Promise<readonly string[]> {
    signal.throwIfAborted();
    const name = host.toLowerCase();
    const cached = this.cached(name);
    if (cached !== undefined) {
      if ('failure' in cached) throw cached.failure;
      return cached.addresses;
    }
    const { answer } = this.queries.get(`${owner} ${name}`) ?? this.query(owner, name);
    return await raceSignal(answer, signal);
  }

  private cached(name: string): Cached | undefined {
    const cached = this.cache.take(name);
    if (cached === undefined || cached.untilMs <= this.options.timers.now()) return undefined;
    this.cache.set(name, cached);
    return cached;
  }

  private keep(name: string, cached: Cached): void {
    this.cache.delete(name);
    this.cache.set(name, cached);
    if (this.cache.size <= CACHED_MAX) return;
    const [oldest = ''] = this.cache.keys();
    this.cache.delete(oldest);
  }

  private query(owner: string, name: string): Query {
    this.makeRoom(owner);
    const key = `${owner} ${name}`;
    const ending = new AbortController();
    const close = () => {
      if (this.queries.get(key) !== query) return;
      stopTimer();
      this.queries.delete(key);
      this.budget.release(owner);
    };
    const end = (why: LookupFailed) => {
      close();
      ending.abort(why);
    };
    const stopTimer = this.options.timers.after(QUERY_MS_MAX, () =>
      end(new LookupFailed('the name servers did not answer in time')),
    );
    const answer = this.lookUp(name, ending.signal).finally(() => close());
    // Callers handle a failure; without this it would also count as unhandled.
    answer.catch(() => undefined);
    const query: Query = { owner, answer, end };
    this.queries.set(key, query);
    this.budget.add(owner);
    return query;
  }

  private async lookUp(name: string, signal: AbortSignal): Promise<readonly string[]> {
    const { lookup, timers } = this.options;
    try {
      const { addresses, keepMs } = await raceSignal(lookup(name, signal), signal);
      const sorted = addresses.toSorted(
        (a, b) => Number(a.includes(':')) - Number(b.includes(':')),
      );
      if (keepMs > 0) {
        const untilMs = timers.now() + Math.min(keepMs, KEEP_MS_MAX);
        this.keep(name, { untilMs, addresses: sorted });
      }
      return sorted;
    } catch (failure) {
      // A query that was aborted in favour of others says nothing about its name.
      if (!(failure instanceof TooManyQueries)) {
        this.keep(name, { untilMs: timers.now() + FAILURE_MS, failure });
      }
      throw failure;
    }
  }

  /** Throws if the owner may not have another query now. */
  private makeRoom(owner: string): void {
    const { budget } = this;
    if (budget.of(owner) >= QUERIES_PER_OWNER_MAX) throw this.refuse(owner);
    const loser = budget.ownerToEvict(owner);
    if (loser === undefined) return;
    if (loser === owner) throw this.refuse(owner);
    const newest = [...this.queries.values()].findLast((query) => query.owner === loser);
    newest?.end(this.refuse(loser));
  }

  private refuse(owner: string): LookupFailed {
    this.refusals++;
    this.options.onRefused?.(owner);
    return new TooManyQueries();
  }
}

/** Settles with the promise, or rejects with the signal's reason once that is aborted. */
async function raceSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    if (signal.aborted) abort();
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
