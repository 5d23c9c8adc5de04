import { FairBudget } from '../runtime/fair-budget.ts';

/** The addresses of a name, IPv4 and IPv6. */
export interface FoundName {
  readonly addresses: readonly string[];
  /** How long they are good for: the shortest time to live. */
  readonly keepMs: number;
}

/**
 * Looks a name up, or throws an error with a `code`. It must not hold anything that others need while it waits,
 * and must end when `signal` is aborted.
 */
export type Lookup = (host: string, signal: AbortSignal) => Promise<FoundName>;

export interface ResolverOptions {
  readonly lookup: Lookup;
  readonly timers: {
    /** Milliseconds, of a clock that never goes back. */
    now(): number;
    after(delayMs: number, run: () => void): () => void;
  };
  /** A question of this owner was refused or ended, because too many are open. */
  readonly refused?: (owner: string) => void;
}

/** Whose name it is, and when the one who asks gives up. */
export interface Asker {
  /** Of a tenant, the same for all its names. */
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** After this a question ends, also where nobody waits for it any more: a failure is worth remembering. */
const QUESTION_MS_MAX = 5_000;

/** Open questions. Each has a socket or two. */
const QUESTIONS_MAX = 256;

/** Open questions of one owner. */
const QUESTIONS_OF_OWNER_MAX = 64;

/** How long an answer is good for at most. */
const KEEP_MS_MAX = 30_000;

/** How long a name counts as one that cannot be resolved after it could not. */
const FAILURE_MS = 5_000;

/** Names whose answers or failures are remembered; beyond it, those used least recently are forgotten. */
const REMEMBERED_MAX = 2_000;

/** Why a name was not resolved; `code` says it in a few words. */
class LookupFailed extends Error {
  override readonly name = 'LookupFailed';
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** One that had to go for others, or was not asked. */
class TooManyQuestions extends LookupFailed {
  constructor() {
    super('too many names are being looked up');
  }
}

interface Question {
  readonly owner: string;
  readonly answer: Promise<readonly string[]>;
  /** Gives its place back at once. */
  end(why: LookupFailed): void;
}

/** What is remembered of a name: its addresses, or why there are none. */
type Remembered = { readonly untilMs: number } & (
  | { readonly addresses: readonly string[] }
  | { readonly failure: unknown }
);

/**
 * Resolves the names that tenants choose; one for the whole process, so that its bounds hold for all of it.
 *
 * Open questions are shared fairly between owners: where all places are taken, the owner with the most loses its
 * newest question to one with fewer. Answers are remembered as long as their time to live says, but no longer than
 * half a minute, and failures for 5 seconds, so that a dead name costs one question in that time.
 */
export class Resolver {
  /** Questions that were refused or ended because too many were open, since the start. */
  refusals = 0;
  private readonly options: ResolverOptions;
  private readonly budget = new FairBudget(QUESTIONS_MAX);
  /** By owner and name, the oldest first. Owners share no question, since one may lose its own. */
  private readonly questions = new Map<string, Question>();
  /** By name, the least recently used first. */
  private readonly remembered = new Map<string, Remembered>();

  constructor(options: ResolverOptions) {
    this.options = options;
  }

  /** Open questions. */
  get open(): number {
    return this.questions.size;
  }

  /**
   * The addresses to try, in order, IPv4 first: where IPv6 is announced but leads nowhere, which is common
   * in containers, it would use up the whole timeout. Throws an error with a `code`, or the signal's reason as soon
   * as that is aborted.
   */
  async resolve(host: string, { owner, signal }: Asker): Promise<readonly string[]> {
    signal.throwIfAborted();
    const name = host.toLowerCase();
    const remembered = this.recall(name);
    if (remembered !== undefined) {
      if ('failure' in remembered) throw remembered.failure;
      return remembered.addresses;
    }
    const { answer } = this.questions.get(`${owner} ${name}`) ?? this.ask(owner, name);
    return await raceSignal(answer, signal);
  }

  private recall(name: string): Remembered | undefined {
    const remembered = this.remembered.get(name);
    if (remembered === undefined) return undefined;
    this.remembered.delete(name);
    if (remembered.untilMs <= this.options.timers.now()) return undefined;
    this.remembered.set(name, remembered);
    return remembered;
  }

  private remember(name: string, remembered: Remembered): void {
    this.remembered.delete(name);
    this.remembered.set(name, remembered);
    if (this.remembered.size <= REMEMBERED_MAX) return;
    const [oldest = ''] = this.remembered.keys();
    this.remembered.delete(oldest);
  }

  private ask(owner: string, name: string): Question {
    this.makeRoom(owner);
    const key = `${owner} ${name}`;
    const ending = new AbortController();
    const close = () => {
      if (this.questions.get(key) !== question) return;
      stopTimer();
      this.questions.delete(key);
      this.budget.release(owner);
    };
    const end = (why: LookupFailed) => {
      close();
      ending.abort(why);
    };
    const stopTimer = this.options.timers.after(QUESTION_MS_MAX, () =>
      end(new LookupFailed('the name servers did not answer in time')),
    );
    const answer = this.lookUp(name, ending.signal).finally(() => close());
    // Everybody who waits handles a failure; here it must not count as one that nobody handles.
    answer.catch(() => undefined);
    const question: Question = { owner, answer, end };
    this.questions.set(key, question);
    this.budget.add(owner);
    return question;
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
        this.remember(name, { untilMs, addresses: sorted });
      }
      return sorted;
    } catch (failure) {
      // A question that had to go for others says nothing of its name.
      if (!(failure instanceof TooManyQuestions)) {
        this.remember(name, { untilMs: timers.now() + FAILURE_MS, failure });
      }
      throw failure;
    }
  }

  /** Throws where the owner may have no further question now. */
  private makeRoom(owner: string): void {
    const { budget } = this;
    if (budget.of(owner) >= QUESTIONS_OF_OWNER_MAX) throw this.refuse(owner);
    const loser = budget.whoYields(owner);
    if (loser === undefined) return;
    if (loser === owner) throw this.refuse(owner);
    const newest = [...this.questions.values()].findLast((question) => question.owner === loser);
    newest?.end(this.refuse(loser));
  }

  private refuse(owner: string): LookupFailed {
    this.refusals++;
    this.options.refused?.(owner);
    return new TooManyQuestions();
  }
}

/** Settles with the promise, or rejects with the signal's reason as soon as that is aborted. */
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
