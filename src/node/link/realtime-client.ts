import type { Question, Questions } from './messages.ts';

/** After this time, the realtime loop counts as too busy to answer. */
const ANSWER_TIMEOUT_MS = 5000;

interface Pending {
  readonly resolve: (answer: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/** Sends questions from the background loop to the realtime loop. */
export class RealtimeClient {
  private readonly send: (number: number, question: Question) => void;
  private readonly pending = new Map<number, Pending>();
  private asked = 0;

  constructor(send: (number: number, question: Question) => void) {
    this.send = send;
  }

  /** Asks one question. Rejects if no answer comes within 5 s. */
  async ask<What extends keyof Questions>(
    question: { readonly what: What } & Questions[What]['ask'],
  ): Promise<Questions[What]['answer']> {
    const number = ++this.asked;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => {
      this.pending.delete(number);
      reject(new Error(`The realtime loop did not answer within ${ANSWER_TIMEOUT_MS} ms`));
    }, ANSWER_TIMEOUT_MS);
    this.pending.set(number, { resolve, timer });
    // The compiler cannot see that a union member picked by its own key belongs to the union.
    this.send(number, question as Question);
    return (await promise) as Questions[What]['answer'];
  }

  /** Handles an answer. */
  answered(number: number, answer: unknown): void {
    const pending = this.pending.get(number);
    if (pending === undefined) return;
    this.pending.delete(number);
    clearTimeout(pending.timer);
    pending.resolve(answer);
  }
}
