import type { Clock } from '../runtime/ports.ts';
import type { ConnectionFilter } from './facts/connections.ts';
import type { AskedServer, OfAllServers } from './facts/servers.ts';
import type { AnswersOfOthers, OtherServers } from './other-servers.ts';
import type { AskLoops, OwnAnswers } from './own-answers.ts';
import { type ConnectionList, listConnections } from './paging.ts';
import type { AllAnswers } from './question.ts';
import {
  type AnswerTo,
  type ClusterQuestion,
  clusterRow,
  type LoopQuestion,
  type Merged,
  type QueryOf,
} from './questions.ts';

export interface AskerOptions {
  /** The name of this server. */
  readonly node: string;
  readonly loops: AskLoops;
  readonly own: Pick<OwnAnswers, 'of'>;
  /** `undefined`: there are none. */
  readonly others: Pick<OtherServers, 'ask' | 'askOne' | 'list'> | undefined;
  /** Whether all servers use one store. */
  readonly sharesStore: boolean;
  readonly clock: Clock;
}

/** An answer of all servers. */
export interface AnswerOfAll<One> extends OfAllServers {
  readonly answer: One;
}

/**
 * Asks the loops of this server, and all servers, by the name of a question. Throws `Unanswered` if a loop of this server has
 * no answer, or too many questions are open. Other servers without an answer are named in it.
 */
export interface AskByName {
  /** Asks one loop, which answers for this server or for all. */
  loop<One extends LoopQuestion>(what: One, query: QueryOf<One>): Promise<AnswerTo<One>>;
  /** Asks all loops of this server. */
  loops<One extends LoopQuestion>(
    what: One,
    query: QueryOf<One>,
  ): Promise<readonly AnswerTo<One>[]>;
  /** Asks all servers, this one included. */
  everywhere<One extends ClusterQuestion>(
    what: One,
    query: QueryOf<One>,
  ): Promise<AnswerOfAll<Merged<One>>>;
  /** Asks one server by its name; `undefined`: it does not answer. */
  server<One extends ClusterQuestion>(
    name: string,
    what: One,
    query: QueryOf<One>,
  ): Promise<AnswerTo<One> | undefined>;
  /** Lists connections of all servers: there may be fewer than `limit` although there are more. `unknown`: the list ended. */
  connections(filter: ConnectionFilter): Promise<ConnectionList | 'unknown'>;
}

const NOBODY: AnswersOfOthers<unknown> = { answers: [], away: [] };

export class ClusterAsker implements AskByName {
  private readonly options: AskerOptions;
  /** Answers of other servers that are kept for a while, by the question. */
  private readonly kept = new Map<
    string,
    { readonly untilMs: number; readonly answers: Promise<AnswersOfOthers<unknown>> }
  >();

  constructor(options: AskerOptions) {
    this.options = options;
  }

  loop<One extends LoopQuestion>(what: One, query: QueryOf<One>): Promise<AnswerTo<One>> {
    return this.options.loops.ask(what, query);
  }

  loops<One extends LoopQuestion>(
    what: One,
    query: QueryOf<One>,
  ): Promise<readonly AnswerTo<One>[]> {
    return this.options.loops.askAll(what, query);
  }

  async everywhere<One extends ClusterQuestion>(
    what: One,
    query: QueryOf<One>,
  ): Promise<AnswerOfAll<Merged<One>>> {
    const { node, own } = this.options;
    const { enough, whole } = clusterRow(what);
    const asked = own.of(what, query);
    if (enough?.(await asked)) return this.merged(what, query, [{ node, answer: await asked }]);
    const [answer, others] = await Promise.all([asked, this.askOthers(what, query)]);
    const found = enough && others.answers.find((one) => enough(one.answer));
    if (whole && others.away.length > 0 && found === undefined) {
      return { servers: this.servers(others.away), answer: undefined as Merged<One> };
    }
    return this.merged(what, query, [{ node, answer }, ...others.answers], others.away);
  }

  async server<One extends ClusterQuestion>(
    name: string,
    what: One,
    query: QueryOf<One>,
  ): Promise<AnswerTo<One> | undefined> {
    const { node, own, others } = this.options;
    return await (name === node ? own.of(what, query) : others?.askOne(name, what, query));
  }

  async connections(filter: ConnectionFilter): Promise<ConnectionList | 'unknown'> {
    const { node, others, clock } = this.options;
    const { answers, away } = (await others?.ask('here', {})) ?? NOBODY;
    return await listConnections(
      {
        servers: [node, ...answers.map((one) => one.node)],
        away,
        now: () => clock.now(),
        ask: (server, query) => this.server(server, 'connections', query),
      },
      filter,
    );
  }

  private merged<One extends ClusterQuestion>(
    what: One,
    query: QueryOf<One>,
    answers: AllAnswers<unknown>,
    away: readonly string[] = [],
  ): AnswerOfAll<Merged<One>> {
    const { others, sharesStore, clock } = this.options;
    const answer = clusterRow(what).merge(answers, {
      query,
      nowMs: clock.now(),
      others: others?.list(),
      away,
      sharesStore,
    });
    return { servers: this.servers(away), answer: answer as Merged<One> };
  }

  private async askOthers<One extends ClusterQuestion>(
    what: One,
    query: QueryOf<One>,
  ): Promise<AnswersOfOthers<unknown>> {
    const { others, clock } = this.options;
    if (others === undefined) return NOBODY;
    const { shared } = clusterRow(what);
    if (shared === undefined) return await others.ask(what, query);
    const nowMs = clock.now();
    const common = shared.query(query, nowMs) as QueryOf<One>;
    const key = JSON.stringify([what, common]);
    for (const [old, { untilMs }] of this.kept) {
      // The clock may have been set back.
      if (nowMs >= untilMs || nowMs < untilMs - shared.keptMs) this.kept.delete(old);
    }
    const kept = this.kept.get(key) ?? {
      untilMs: nowMs + shared.keptMs,
      answers: others.ask(what, common),
    };
    this.kept.set(key, kept);
    return await kept.answers;
  }

  private servers(away: readonly string[]): readonly AskedServer[] {
    const { node, others } = this.options;
    return [
      { name: node, away: false },
      ...(others?.list() ?? []).map(({ name }) => ({ name, away: away.includes(name) })),
    ];
  }
}
