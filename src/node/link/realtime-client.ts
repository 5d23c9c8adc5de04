import { OpenQuestions } from '../../asking/open-questions.ts';
import type { AskLoops } from '../../asking/own-answers.ts';
import {
  type AnswerTo,
  type LoopAsk,
  type LoopQuestion,
  loopRow,
  type QueryOf,
} from '../../asking/questions.ts';
import { Unanswered } from '../../asking/unanswered.ts';
import type { Timers } from '../../runtime/ports.ts';
import { loopName } from './loop-name.ts';
import type { BackgroundToLoop } from './messages.ts';

/** Sends messages and questions from the background loop to the realtime loops. */
export class RealtimeClient implements AskLoops {
  private readonly loops: readonly ((message: BackgroundToLoop) => void)[];
  private readonly open: OpenQuestions;
  /** Ids of stored or dropped webhook events, by loop. Sent at the end of this turn. */
  private readonly webhookEventsOver = new Map<number, string[]>();

  /** `loops`: for each loop, a function that sends it a message. */
  constructor(loops: readonly ((message: BackgroundToLoop) => void)[], timers: Timers) {
    this.loops = loops;
    this.open = new OpenQuestions(timers);
  }

  get count(): number {
    return this.loops.length;
  }

  post(loop: number, message: BackgroundToLoop): void {
    this.loops[loop]?.(message);
  }

  postToAll(message: BackgroundToLoop): void {
    for (const post of this.loops) post(message);
  }

  /** Reports to a loop that one of its webhook events was stored or dropped. Reports of one turn share a message. */
  webhookEventOver(loop: number, id: string): void {
    const waiting = this.webhookEventsOver.get(loop);
    if (waiting !== undefined) return void waiting.push(id);
    const ids = [id];
    this.webhookEventsOver.set(loop, ids);
    queueMicrotask(() => {
      this.webhookEventsOver.delete(loop);
      this.post(loop, { type: 'webhook-events-over', ids });
    });
  }

  async ask<One extends LoopQuestion>(
    what: One,
    query: QueryOf<One>,
    loop = 0,
  ): Promise<AnswerTo<One>> {
    const [answer] = await this.askLoops([loop], what, query);
    return answer as AnswerTo<One>;
  }

  async askAll<One extends LoopQuestion>(
    what: One,
    query: QueryOf<One>,
  ): Promise<readonly AnswerTo<One>[]> {
    return await this.askLoops([...this.loops.keys()], what, query);
  }

  /** Handles an answer. */
  settle(loop: number, number: number, answer: unknown): void {
    this.open.answered(number, loopName(loop), answer);
  }

  /** Handles the reply that a question has no answer. */
  notAnswered(number: number, why: string): void {
    this.open.notAnswered(number, why);
  }

  private async askLoops<One extends LoopQuestion>(
    loops: readonly number[],
    what: One,
    query: QueryOf<One>,
  ): Promise<readonly AnswerTo<One>[]> {
    const timeoutMs = loopRow(what).loopMs(query);
    const { number, over, sentTo } = this.open.begin(timeoutMs);
    // The compiler cannot see that a query belongs to the question that it comes with.
    const question = { what, ...query } as unknown as LoopAsk;
    for (const loop of loops) this.post(loop, { type: 'ask', number, question });
    sentTo(loops.length);
    const { answers, why } = await over;
    if (why !== undefined) throw new Unanswered('unavailable', why);
    return loops.map((loop) => {
      const name = loopName(loop);
      if (!answers.has(name)) {
        const late = `The ${name} loop did not answer within ${timeoutMs} ms`;
        throw new Unanswered('unavailable', late);
      }
      return answers.get(name) as AnswerTo<One>;
    });
  }
}
