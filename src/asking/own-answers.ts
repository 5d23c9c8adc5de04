import type { MaybePromise } from '../channels/maybe-promise.ts';
import {
  type AnswerTo,
  type ClusterQuestion,
  clusterRow,
  isOfCluster,
  type LoopQuestion,
  type QueryOf,
  type ServerAnswers,
} from './questions.ts';

/** Asks the realtime loops of this server. Throws `Unanswered` if one of those that are asked has no answer. */
export interface AskLoops {
  /** The number of realtime loops. */
  readonly count: number;
  /** Asks one loop: the first, if none is named. */
  ask<One extends LoopQuestion>(
    what: One,
    query: QueryOf<One>,
    loop?: number,
  ): Promise<AnswerTo<One>>;
  /** Asks all loops. The answers have their order. */
  askAll<One extends LoopQuestion>(
    what: One,
    query: QueryOf<One>,
  ): Promise<readonly AnswerTo<One>[]>;
}

/** A question as another server has sent it. */
export interface SentQuestion {
  readonly what: string;
}

/** What this server answers for itself: from its realtime loops, or from what its background loop knows. */
export class OwnAnswers {
  private readonly loops: AskLoops;
  private readonly answers: ServerAnswers;

  constructor(loops: AskLoops, answers: ServerAnswers) {
    this.loops = loops;
    this.answers = answers;
  }

  /** Answers a question of this server. */
  async of<One extends ClusterQuestion>(what: One, query: QueryOf<One>): Promise<AnswerTo<One>> {
    return (await this.answer(what, query, undefined)) as AnswerTo<One>;
  }

  /** Answers a question of another server; `undefined`: it is not one that this version answers to servers. */
  async toServer({ what, ...query }: SentQuestion, from: string): Promise<unknown> {
    if (!isOfCluster(what)) return undefined;
    return await this.answer(what, query, from);
  }

  private async answer(
    what: ClusterQuestion,
    query: object,
    from: string | undefined,
  ): Promise<unknown> {
    const { add } = clusterRow(what);
    // The compiler cannot see that a query belongs to the question that it comes with.
    if (add !== undefined) return add(await this.loops.askAll(what as 'problems', query as never));
    const answers: Readonly<Record<string, AnswerAny>> = this.answers;
    return await answers[what]?.(query as never, from);
  }
}

type AnswerAny = (query: never, from: string | undefined) => MaybePromise<unknown>;
