import type { Timers } from '../runtime/ports.ts';

/** What has come when a question is over. */
export interface Replies {
  /** By the name of who answered. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** Why one of those who were asked has no answer: it has said so. */
  readonly why: string | undefined;
}

export interface OpenQuestion {
  /** Answers carry it. */
  readonly number: number;
  /** Settles when all receivers have answered, one of them has said that it cannot, or the time is over. */
  readonly over: Promise<Replies>;
  /** Sets how many have received the question. Until then, the question waits for further answers. */
  sentTo(receivers: number): void;
}

interface Waiting {
  readonly answers: Map<string, unknown>;
  receivers: number;
  readonly end: (why?: string) => void;
}

/** The questions of one asker that wait for answers: each with a number and a timeout. */
export class OpenQuestions {
  private readonly timers: Pick<Timers, 'after'>;
  private readonly waiting = new Map<number, Waiting>();
  private lastNumber = 0;

  constructor(timers: Pick<Timers, 'after'>) {
    this.timers = timers;
  }

  get size(): number {
    return this.waiting.size;
  }

  begin(timeoutMs: number): OpenQuestion {
    const number = ++this.lastNumber;
    const { promise, resolve } = Promise.withResolvers<Replies>();
    const answers = new Map<string, unknown>();
    const cancel = this.timers.after(timeoutMs, () => one.end());
    const one: Waiting = {
      answers,
      receivers: Number.POSITIVE_INFINITY,
      end: (why) => {
        cancel();
        this.waiting.delete(number);
        resolve({ answers, why });
      },
    };
    this.waiting.set(number, one);
    return {
      number,
      over: promise,
      sentTo(receivers) {
        one.receivers = receivers;
        endIfComplete(one);
      },
    };
  }

  /** Handles an answer. One that comes too late is dropped. */
  answered(number: number, by: string, answer: unknown): void {
    const one = this.waiting.get(number);
    if (one === undefined) return;
    one.answers.set(by, answer);
    endIfComplete(one);
  }

  /** Handles the reply that there is no answer. */
  notAnswered(number: number, why: string): void {
    this.waiting.get(number)?.end(why);
  }
}

function endIfComplete({ answers, receivers, end }: Waiting): void {
  if (answers.size >= receivers) end();
}
