import type { Question, Questions } from './messages.ts';

/** Milliseconds after which the realtime loop is taken to be too busy to answer. */
const ANSWER_MAX_MS = 5000;

interface Pending {
  readonly resolve: (answer: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/** Asks the realtime loop, from the background loop. */
export class RealtimeClient {
  private readonly send: (number: number, question: Question) => void;
  private readonly pending = new Map<number, Pending>();
  private asked = 0;

  constructor(send: (number: number, question: Question) => void) {
    this.send = send;
  }

  /** Asks one question. Throws when no answer comes in time. */
  async ask<What extends keyof Questions>(
    question: { readonly what: What } & Questions[What]['ask'],
  ): Promise<Questions[What]['answer']> {
    const number = ++this.asked;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => {
      this.pending.delete(number);
      reject(new Error(`The realtime loop did not answer within ${ANSWER_MAX_MS} ms`));
    }, ANSWER_MAX_MS);
    this.pending.set(number, { resolve, timer });
    // The compiler does not see that a member of a union, picked by its own key, is of the union.
    this.send(number, question as Question);
    return (await promise) as Questions[What]['answer'];
  }

  /** An answer came. */
  answered(number: number, answer: unknown): void {
    const pending = this.pending.get(number);
    if (pending === undefined) return;
    this.pending.delete(number);
    clearTimeout(pending.timer);
    pending.resolve(answer);
  }
}
