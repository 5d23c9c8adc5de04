import type { LiveFigures } from '../../admin/admin.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { loopName } from './loop-name.ts';
import type { BackgroundToLoop, Question, Questions } from './messages.ts';

/** A realtime loop without an answer for this long counts as too busy. */
const ANSWER_TIMEOUT_MS = 5000;

type Ask<What extends keyof Questions> = { readonly what: What } & Questions[What]['ask'];
type Answer<What extends keyof Questions> = Questions[What]['answer'];

interface Pending {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly cancelTimeout: () => void;
}

/** Sends messages and questions from the background loop to the realtime loops. */
export class RealtimeClient {
  private readonly loops: readonly ((message: BackgroundToLoop) => void)[];
  private readonly pending = new Map<number, Pending>();
  private asked = 0;
  /** Ids of stored or dropped webhook events, by loop. Sent at the end of this turn. */
  private readonly webhookEventsOver = new Map<number, string[]>();

  /** `loops`: for each loop, a function that sends it a message. */
  constructor(loops: readonly ((message: BackgroundToLoop) => void)[]) {
    this.loops = loops;
  }

  /** The number of realtime loops. */
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

  /** Asks one loop. Rejects if no answer comes within 5 s, or within the question's own time limit. */
  async ask<What extends keyof Questions>(
    question: Ask<What>,
    loop = 0,
    timeoutMs = ANSWER_TIMEOUT_MS,
  ): Promise<Answer<What>> {
    const number = ++this.asked;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const cancelTimeout = monotonicTimers.after(timeoutMs, () => {
      this.pending.delete(number);
      const why = `The ${loopName(loop)} loop did not answer within ${timeoutMs} ms`;
      reject(new Error(why));
    });
    this.pending.set(number, { resolve, reject, cancelTimeout });
    // The compiler cannot see that a union member picked by its own key belongs to the union.
    this.post(loop, { type: 'ask', number, question: question as Question });
    return (await promise) as Answer<What>;
  }

  /** Asks all loops. Rejects if one of them does not answer. */
  async askAll<What extends keyof Questions>(
    question: Ask<What>,
  ): Promise<readonly Answer<What>[]> {
    return await Promise.all(this.loops.map((_post, loop) => this.ask(question, loop)));
  }

  /** Handles an answer. */
  settle(number: number, answer: unknown): void {
    this.take(number)?.resolve(answer);
  }

  /** Handles the reply that a question has no answer. */
  notAnswered(number: number, why: string): void {
    this.take(number)?.reject(new Error(why));
  }

  private take(number: number): Pending | undefined {
    const pending = this.pending.get(number);
    this.pending.delete(number);
    pending?.cancelTimeout();
    return pending;
  }
}

/** Adds up the figures of all loops. */
export function addFigures(loops: readonly LiveFigures[]): LiveFigures {
  return {
    apps: addUp(
      loops.flatMap(({ apps }) => apps),
      ({ appId }) => appId,
      (a, b) => ({
        appId: a.appId,
        connections: a.connections + b.connections,
        channels: a.channels + b.channels,
        messages: a.messages + b.messages,
        clientMessages: a.clientMessages + b.clientMessages,
      }),
    ),
    servers: addUp(
      loops.flatMap(({ servers }) => servers),
      ({ name }) => name,
      (a, b) => ({
        name: a.name,
        apps: addUp(
          [...a.apps, ...b.apps],
          ({ appId }) => appId,
          ({ appId, connections }, more) => ({
            appId,
            connections: connections + more.connections,
          }),
        ),
      }),
    ),
  };
}

/** Adds up items with the same name. */
function addUp<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  add: (a: T, b: T) => T,
): readonly T[] {
  const sums = new Map<string, T>();
  for (const item of items) {
    const name = nameOf(item);
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? item : add(sum, item));
  }
  return [...sums.values()];
}
