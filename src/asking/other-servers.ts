import type { Log, Timers } from '../runtime/ports.ts';
import { Poller } from '../runtime/time/poller.ts';
import { CLUSTER_FORMAT } from './cluster-format.ts';
import type { KnownServer } from './facts/servers.ts';
import { OpenQuestions } from './open-questions.ts';
import type { SentQuestion } from './own-answers.ts';
import type { AnswerOf } from './question.ts';
import { type AnswerTo, type ClusterQuestion, clusterRow, type QueryOf } from './questions.ts';
import { Unanswered } from './unanswered.ts';

export interface OtherServersOptions {
  /** The name of this server. */
  readonly node: string;
  readonly timers: Timers;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /**
   * Sends a text to one loop of each other server, or to a given loop. Returns the number of receivers; `undefined`
   * if it is unknown at the moment.
   */
  readonly send: (to: string | undefined, text: string) => Promise<number | undefined>;
  /** Answers a question from another server. */
  readonly answer: (question: SentQuestion, node: string) => Promise<unknown>;
}

/** What the other servers have answered, and the names of those that did not. */
export interface AnswersOfOthers<One> {
  readonly answers: readonly AnswerOf<One>[];
  readonly away: readonly string[];
}

interface Known {
  /** The loop that represents it. */
  readonly loop: string;
  heardAtMs: number;
  silentSinceMs: number | undefined;
  /** Whether a line of the log says that it does not answer. */
  isLogged: boolean;
  isStopping: boolean;
}

/** The messages between servers. */
type ServerMessage =
  | { readonly type: 'ask'; readonly number: number; readonly question: SentQuestion }
  | { readonly type: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly type: 'stopping' };

type ReceivedMessage = ServerMessage & { readonly node: string };

/** How often the others are asked, so that a failed one is noticed when it fails. Milliseconds. */
const CHECK_MS = 10_000;

/** A server without an answer for this long is forgotten. Milliseconds. */
const FORGOTTEN_MS = 10 * 60 * 1_000;

/** The limit of servers to remember. */
const KNOWN_MAX = 256;

/** The limits of open questions: from this server, and from other servers. */
const ASKED_MAX = 32;
const ANSWERED_MAX = 32;

/** The largest answer, in characters. */
const ANSWER_MAX = 4 * 1024 * 1024;

/** Asks the other servers of a cluster, and answers their questions. */
export class OtherServers implements Disposable {
  private readonly options: OtherServersOptions;
  private readonly known = new Map<string, Known>();
  private readonly open: OpenQuestions;
  /** Open questions by their text. Callers with the same question share its answers. */
  private readonly running = new Map<string, Promise<AnswersOfOthers<unknown>>>();
  private answering = 0;
  private readonly checking: Poller;

  constructor(options: OtherServersOptions) {
    this.options = options;
    this.open = new OpenQuestions(options.timers);
    this.checking = new Poller(options.timers, () => this.check());
  }

  /** Asks the known servers every ten seconds whether they answer. */
  watch(): void {
    this.checking.wakeLater(CHECK_MS);
  }

  private async check(): Promise<number> {
    // If too many questions are open, their answers say as much.
    if (this.known.size > 0) await this.ask('alive', {}).catch(() => undefined);
    return CHECK_MS;
  }

  /** All known servers by name, without those that have stopped. */
  list(): readonly KnownServer[] {
    this.forget();
    return Array.from(this.known, ([name, { heardAtMs, silentSinceMs }]) => ({
      name,
      heardAtMs,
      silentSinceMs,
    })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Asks all servers. Throws `Unanswered` if too many questions are open. */
  async ask<One extends ClusterQuestion>(
    what: One,
    query: QueryOf<One>,
  ): Promise<AnswersOfOthers<AnswerTo<One>>> {
    const key = JSON.stringify({ what, ...query });
    let answers = this.running.get(key);
    if (answers === undefined) {
      answers = this.askNow(what, query, undefined);
      this.running.set(key, answers);
      void answers.finally(() => this.running.delete(key)).catch(() => undefined);
    }
    return (await answers) as AnswersOfOthers<AnswerTo<One>>;
  }

  /** Asks one server by name; `undefined`: no answer. */
  async askOne<One extends ClusterQuestion>(
    node: string,
    what: One,
    query: QueryOf<One>,
  ): Promise<AnswerTo<One> | undefined> {
    const loop = this.known.get(node)?.loop;
    if (loop === undefined) return undefined;
    const { answers } = await this.askNow(what, query, loop);
    return answers.find((one) => one.node === node)?.answer as AnswerTo<One> | undefined;
  }

  /** Handles a message of another server. Returns `false` if it is not for this class or cannot be read. */
  receive(from: string, text: string): boolean {
    const message = readMessage(text);
    if (message === undefined) return false;
    this.noteSender(message.node, from);
    switch (message.type) {
      case 'ask':
        void this.reply(from, message);
        return true;
      case 'answer':
        this.open.answered(message.number, message.node, message.answer);
        return true;
      case 'stopping': {
        const known = this.known.get(message.node);
        if (known !== undefined) known.isStopping = true;
        return true;
      }
      default:
        message satisfies never;
        return false;
    }
  }

  private async askNow(
    what: ClusterQuestion,
    query: object,
    to: string | undefined,
  ): Promise<AnswersOfOthers<unknown>> {
    if (this.open.size >= ASKED_MAX) {
      throw new Unanswered('over-limit', 'Too many questions wait for other servers');
    }
    const { number, over, sentTo } = this.open.begin(clusterRow(what).serverMs);
    let isSent = false;
    const sent = this.send(to, { type: 'ask', number, question: { what, ...query } });
    void sent.then((receivers) => {
      isSent = receivers !== undefined;
      sentTo(receivers ?? 0);
    });
    const { answers } = await over;
    if (to === undefined) this.noteMissing(answers);
    // While Redis is away, nobody can answer.
    if (to === undefined && isSent) this.logSilent();
    return {
      answers: Array.from(answers, ([node, answer]) => ({ node, answer })).filter(
        ({ answer }) => answer !== null,
      ),
      away: [...this.known.keys()].filter((node) => (answers.get(node) ?? null) === null),
    };
  }

  /** Answers a question. Sends `null` if there is no answer. */
  private async reply(
    from: string,
    { number, question, node }: Extract<ReceivedMessage, { type: 'ask' }>,
  ): Promise<void> {
    if (this.answering >= ANSWERED_MAX) return;
    this.answering++;
    let answer: unknown = null;
    try {
      answer = (await this.options.answer(question, node)) ?? null;
      if (JSON.stringify(answer).length > ANSWER_MAX) answer = null;
    } catch {
      // The asking server shows that the answer is missing, and this server has a condition for the cause.
    } finally {
      this.answering--;
    }
    void this.send(from, { type: 'answer', number, answer });
  }

  private send(to: string | undefined, message: ServerMessage): Promise<number | undefined> {
    const { send, node } = this.options;
    // A realtime loop that hangs cannot send anything.
    return send(to, JSON.stringify({ ...message, form: CLUSTER_FORMAT, node })).catch(
      () => undefined,
    );
  }

  private noteSender(node: string, loop: string): void {
    const known = this.known.get(node);
    if (known === undefined && this.known.size >= KNOWN_MAX) return;
    // A restarted server is represented by a new loop.
    const isStopping = known?.loop === loop && known.isStopping;
    const heardAtMs = this.options.timers.now();
    const isLogged = false;
    this.known.set(node, { loop, heardAtMs, silentSinceMs: undefined, isLogged, isStopping });
    if (known?.isLogged) this.options.log.info('Another server answers again', { server: node });
  }

  /** Records which servers did not answer. */
  private noteMissing(answers: ReadonlyMap<string, unknown>): void {
    const nowMs = this.options.timers.now();
    for (const [node, known] of this.known) {
      if (answers.has(node)) continue;
      known.silentSinceMs ??= nowMs;
      if (known.isStopping) this.known.delete(node);
    }
    this.forget();
  }

  /** Logs which servers have not answered for longer than a busy machine takes. */
  private logSilent(): void {
    const { timers, log } = this.options;
    for (const [server, known] of this.known) {
      const { heardAtMs, silentSinceMs = timers.now() } = known;
      if (known.isLogged || timers.now() - silentSinceMs < CHECK_MS) continue;
      known.isLogged = true;
      const lastHeard = new Date(heardAtMs).toISOString();
      log.warn('Another server does not answer', { server, lastHeard });
    }
  }

  private forget(): void {
    const nowMs = this.options.timers.now();
    for (const [node, { silentSinceMs = nowMs }] of this.known) {
      if (nowMs - silentSinceMs >= FORGOTTEN_MS) this.known.delete(node);
    }
  }

  [Symbol.dispose](): void {
    void this.checking.stop();
  }
}

/** Servers of one cluster trust each other, but may have different versions. */
function readMessage(text: string): ReceivedMessage | undefined {
  let message: Partial<Record<string, unknown>>;
  try {
    message = Object(JSON.parse(text));
  } catch {
    return undefined;
  }
  const { type, node, number, question, answer, form } = message;
  if (typeof node !== 'string' || form !== CLUSTER_FORMAT) return undefined;
  if (type === 'stopping') return { type, node };
  if (typeof number !== 'number') return undefined;
  if (type === 'answer') return { type, node, number, answer };
  return type === 'ask' && typeof Object(question).what === 'string'
    ? { type, node, number, question: question as SentQuestion }
    : undefined;
}
