import type { Timers } from '../../../runtime/ports.ts';
import { OperationRefused } from '../../../tenants/operation-refused.ts';
import { FORM } from '../../link/cluster-words.ts';
import type { ClusterQuestion, ClusterQuestions } from './questions.ts';

export interface OtherServersOptions {
  /** The name of this server. */
  readonly node: string;
  readonly timers: Timers;
  /**
   * Says a text to one loop of each other server, or to one loop. Returns how many were there to hear it; `undefined` while
   * that cannot be known.
   */
  readonly say: (to: string | undefined, text: string) => Promise<number | undefined>;
  /** Answers a question of another server. */
  readonly answer: (question: ClusterQuestion) => Promise<unknown>;
}

/** What the other servers have answered, and the names of those that did not. */
export interface Answers<Answer> {
  readonly answers: readonly { readonly node: string; readonly answer: Answer }[];
  readonly away: readonly string[];
}

/** Another server that was heard of. */
export interface KnownServer {
  readonly name: string;
  /** When it last said anything. */
  readonly heardAtMs: number;
  /** Since when it does not answer; `undefined`: it does. */
  readonly silentSinceMs: number | undefined;
}

interface Known {
  /** The loop that speaks for it. */
  readonly loop: string;
  heardAtMs: number;
  silentSinceMs: number | undefined;
  isStopping: boolean;
}

interface Pending {
  readonly answers: Map<string, unknown>;
  /** How many servers have heard the question, once that is known. */
  hearers: number;
  readonly done: PromiseWithResolvers<void>;
}

/** What servers say to each other here. */
type Word =
  | { readonly type: 'ask'; readonly number: number; readonly question: ClusterQuestion }
  | { readonly type: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly type: 'stopping' };

type ReceivedWord = Word & { readonly node: string };

/** How long a question waits for answers. Milliseconds. */
const ANSWER_MS = 1_000;

/** A server that does not answer for this time is forgotten. Milliseconds. */
const FORGOTTEN_MS = 10 * 60 * 1_000;

/** Servers that are remembered. */
const KNOWN_MAX = 256;

/** Questions of this server that wait for answers, and those of others that it answers, at the same time. */
const ASKED_MAX = 32;
const ANSWERED_MAX = 32;

/** Characters of an answer. */
const ANSWER_MAX = 4 * 1024 * 1024;

/** Asks the other servers of a cluster, and answers them. Nothing is said while nobody asks. */
export class OtherServers {
  private readonly options: OtherServersOptions;
  private readonly known = new Map<string, Known>();
  private readonly pending = new Map<number, Pending>();
  /** Questions in progress, by their text. Callers that ask the same at the same time share the answers. */
  private readonly running = new Map<string, Promise<Answers<unknown>>>();
  private lastNumber = 0;
  private answering = 0;

  constructor(options: OtherServersOptions) {
    this.options = options;
  }

  /** All that are known, by name. Those that have stopped are not. */
  list(): readonly KnownServer[] {
    this.forget();
    return Array.from(this.known, ([name, { heardAtMs, silentSinceMs }]) => ({
      name,
      heardAtMs,
      silentSinceMs,
    })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Asks all. Throws `OperationRefused` if too many questions wait. */
  async ask<What extends keyof ClusterQuestions>(
    question: { readonly what: What } & ClusterQuestions[What]['ask'],
  ): Promise<Answers<ClusterQuestions[What]['answer']>> {
    const key = JSON.stringify(question);
    let answers = this.running.get(key);
    if (answers === undefined) {
      // The compiler cannot see that a union member picked by its own key belongs to the union.
      answers = this.askNow(question as ClusterQuestion, undefined);
      this.running.set(key, answers);
      void answers.finally(() => this.running.delete(key)).catch(() => undefined);
    }
    return (await answers) as Answers<ClusterQuestions[What]['answer']>;
  }

  /** Asks one by its name; `undefined`: it does not answer. */
  async askOne<What extends keyof ClusterQuestions>(
    node: string,
    question: { readonly what: What } & ClusterQuestions[What]['ask'],
  ): Promise<ClusterQuestions[What]['answer'] | undefined> {
    const loop = this.known.get(node)?.loop;
    if (loop === undefined) return undefined;
    const { answers } = await this.askNow(question as ClusterQuestion, loop);
    return answers.find((one) => one.node === node)?.answer as ClusterQuestions[What]['answer'];
  }

  /** Takes what another server has said. What is not for this class is ignored. */
  receive(from: string, text: string): void {
    const word = readWord(text);
    if (word === undefined) return;
    this.hear(word.node, from);
    switch (word.type) {
      case 'ask':
        void this.reply(from, word);
        return;
      case 'answer': {
        const pending = this.pending.get(word.number);
        pending?.answers.set(word.node, word.answer);
        this.checkDone(pending);
        return;
      }
      case 'stopping': {
        const known = this.known.get(word.node);
        if (known !== undefined) known.isStopping = true;
        return;
      }
      default:
        word satisfies never;
    }
  }

  private async askNow(
    question: ClusterQuestion,
    to: string | undefined,
  ): Promise<Answers<unknown>> {
    if (this.pending.size >= ASKED_MAX) {
      throw new OperationRefused('over-limit', 'Too many questions wait for other servers');
    }
    const number = ++this.lastNumber;
    const pending: Pending = {
      answers: new Map(),
      hearers: Number.POSITIVE_INFINITY,
      done: Promise.withResolvers(),
    };
    this.pending.set(number, pending);
    const cancel = this.options.timers.after(ANSWER_MS, () => pending.done.resolve());
    const said = this.say(to, { type: 'ask', number, question });
    void said.then((hearers = 0) => {
      pending.hearers = hearers;
      this.checkDone(pending);
    });
    await pending.done.promise;
    cancel();
    this.pending.delete(number);
    const answers = Array.from(pending.answers, ([node, answer]) => ({ node, answer }));
    if (to === undefined) this.miss(pending.answers);
    return {
      answers: answers.filter(({ answer }) => answer !== null),
      away: [...this.known.keys()].filter((node) => (pending.answers.get(node) ?? null) === null),
    };
  }

  private checkDone(pending: Pending | undefined): void {
    if (pending !== undefined && pending.answers.size >= pending.hearers) pending.done.resolve();
  }

  /** Answers a question; `null` says that there is no answer. */
  private async reply(
    from: string,
    { number, question }: Extract<Word, { type: 'ask' }>,
  ): Promise<void> {
    if (this.answering >= ANSWERED_MAX) return;
    this.answering++;
    let answer: unknown = null;
    try {
      answer = (await this.options.answer(question)) ?? null;
      if (JSON.stringify(answer).length > ANSWER_MAX) answer = null;
    } catch {
      // The asking server sees that there is no answer. What does not work here is a condition of this server.
    } finally {
      this.answering--;
    }
    void this.say(from, { type: 'answer', number, answer });
  }

  private say(to: string | undefined, word: Word): Promise<number | undefined> {
    const { say, node } = this.options;
    // A realtime loop that does not answer cannot say anything.
    return say(to, JSON.stringify({ ...word, form: FORM, node })).catch(() => undefined);
  }

  private hear(node: string, loop: string): void {
    const known = this.known.get(node);
    if (known === undefined && this.known.size >= KNOWN_MAX) return;
    // One that was started again has another loop.
    const isStopping = known?.loop === loop && known.isStopping;
    const heardAtMs = this.options.timers.now();
    this.known.set(node, { loop, heardAtMs, silentSinceMs: undefined, isStopping });
  }

  /** Notes who did not answer. */
  private miss(answers: ReadonlyMap<string, unknown>): void {
    const nowMs = this.options.timers.now();
    for (const [node, known] of this.known) {
      if (answers.has(node)) continue;
      known.silentSinceMs ??= nowMs;
      if (known.isStopping) this.known.delete(node);
    }
    this.forget();
  }

  private forget(): void {
    const nowMs = this.options.timers.now();
    for (const [node, { silentSinceMs = nowMs }] of this.known) {
      if (nowMs - silentSinceMs >= FORGOTTEN_MS) this.known.delete(node);
    }
  }
}

/** Servers of one cluster trust each other, but may have different versions. */
function readWord(text: string): ReceivedWord | undefined {
  let word: Partial<Record<string, unknown>>;
  try {
    word = Object(JSON.parse(text));
  } catch {
    return undefined;
  }
  const { type, node, number, question, answer, form } = word;
  if (typeof node !== 'string' || form !== FORM) return undefined;
  if (type === 'stopping') return { type, node };
  if (typeof number !== 'number') return undefined;
  if (type === 'answer') return { type, node, number, answer };
  return type === 'ask' && typeof Object(question).what === 'string'
    ? { type, node, number, question: question as ClusterQuestion }
    : undefined;
}
