import type { KnownServer } from './facts/servers.ts';

/** A realtime loop without an answer for this long counts as too busy. Milliseconds. */
const LOOP_MS = 5_000;

/** A server without an answer for this long is away. Milliseconds. */
const SERVER_MS = 1_000;

/** The answer of one server. */
export interface AnswerOf<Answer> {
  readonly node: string;
  readonly answer: Answer;
}

/** The answers that have come. That of this server is the first. */
export type AllAnswers<Answer> = readonly [own: AnswerOf<Answer>, ...others: AnswerOf<Answer>[]];

/** What is known when the answers of all servers become one. */
export interface MergeContext<Query> {
  readonly query: Query;
  readonly nowMs: number;
  /** The other servers that are known; `undefined`: this server is not one of several. */
  readonly others: readonly KnownServer[] | undefined;
  /** The names of those that have not answered. */
  readonly away: readonly string[];
  /** Whether all servers use one store. */
  readonly sharesStore: boolean;
}

/** The types of a question. No row has such a value. */
interface Terms<Query, Answer, Merged> {
  readonly terms?: { readonly query: Query; readonly answer: Answer; readonly merged: Merged };
}

/** How long a loop may take to answer. */
interface LoopTimeout<Query> {
  loopMs(query: Query): number;
}

/** How the answers of all servers become one. */
interface OfAll<Query, Answer, Merged> {
  merge(answers: AllAnswers<Answer>, context: MergeContext<Query>): Merged;
  /** How long another server may take to answer. */
  readonly serverMs?: number;
  /** Whether one answer makes those of the others unnecessary. This server is asked first. */
  enough?(answer: Answer): boolean;
  /** Lets all who ask nearly the same share the answers of the others. */
  readonly shared?: {
    /** What the others are asked instead. */
    query(query: Query, nowMs: number): Query;
    /** How long their answers are kept. Milliseconds. */
    readonly keptMs: number;
  };
}

/** `whole`: half an answer is none. While a server is away, the answer is `undefined`, unless one of those that came is enough. */
interface Wholeness<Whole extends boolean> {
  readonly whole?: Whole;
}

type MergedOf<Merged, Whole extends boolean> = Whole extends true ? Merged | undefined : Merged;

/**
 * Begins the row of a question. `Answer` is that of one loop or server. The row says who is asked, how their answers become
 * one, and whether half an answer is one.
 */
export function asks<Query, Answer>() {
  return {
    /** A question to one loop, or to each loop of this server. */
    ofLoop: (given: Partial<LoopTimeout<Query>> = {}) =>
      row<Terms<Query, Answer, never>>()({
        askedOf: 'loop' as const,
        loopMs: () => LOOP_MS,
        ...given,
      }),
    /** A question to all loops of all servers. `add` makes the answer of one server of those of its loops. */
    ofLoops: <Merged, Whole extends boolean = false>(
      given: OfAll<Query, Answer, Merged> &
        Wholeness<Whole> & { add(answers: readonly Answer[]): Answer },
    ) =>
      row<Terms<Query, Answer, MergedOf<Merged, Whole>>>()({
        askedOf: 'loops' as const,
        loopMs: () => LOOP_MS,
        serverMs: SERVER_MS,
        ...given,
      }),
    /** A question to all servers, which their background loops answer. */
    ofServers: <Merged, Whole extends boolean = false>(
      given: OfAll<Query, Answer, Merged> & Wholeness<Whole>,
    ) =>
      row<Terms<Query, Answer, MergedOf<Merged, Whole>>>()({
        askedOf: 'servers' as const,
        serverMs: SERVER_MS,
        ...given,
      }),
  };
}

function row<Types>() {
  return <Row extends object>(given: Row) => given as Row & Types;
}

/** The row of a question to loops, as who asks it sees it: without its types. */
export type AnyLoopRow = LoopTimeout<unknown>;

/** The row of a question to all servers. */
export interface AnyClusterRow extends OfAll<unknown, unknown, unknown>, Wholeness<boolean> {
  readonly serverMs: number;
  /** Only of questions that loops answer. */
  add?(answers: readonly unknown[]): unknown;
}
