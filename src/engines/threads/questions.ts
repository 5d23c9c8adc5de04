import type { EventId } from '../../channels/history/event-id.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { DoneIds, EngineMessage, HomeAnswerTo, Question, QuestionKind } from './messages.ts';

/**
 * The limit of answered questions at the front of the list. They are removed in batches, which is cheaper than one by
 * one.
 */
const ANSWERED_MAX = 10_000;

export interface QuestionsOptions {
  readonly send: (message: EngineMessage) => void;
  /** A monotonic clock. */
  readonly monotonic: Clock;
  readonly meter: EngineMeter;
}

/** The answer to a question of any kind. */
type Answer = HomeAnswerTo<QuestionKind>;

interface Pending {
  readonly askedAtMs: number;
  readonly answered: (answer: Answer) => void;
  readonly failed: (error: Error) => void;
}

/** The questions of this loop to one home that are not answered yet, in order. */
export class Questions {
  private readonly options: QuestionsOptions;
  private pending: Pending[] = [];
  /** The index of the first unanswered question in `pending`. */
  private next = 0;

  constructor(options: QuestionsOptions) {
    this.options = options;
  }

  /** How many are not answered. */
  get waiting(): number {
    return this.pending.length - this.next;
  }

  /** Asks. `answered` runs at the position of the answer among that home's broadcasts, before the promise settles. */
  ask<Asked extends Question, T>(
    question: Asked,
    answered: (answer: HomeAnswerTo<Asked[0]>) => T,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const { send, monotonic } = this.options;
    this.pending.push({
      askedAtMs: monotonic.now(),
      answered(answer) {
        try {
          // Answers come in the order of the questions, so this one is of the same kind.
          resolve(answered(answer as HomeAnswerTo<Asked[0]>));
        } catch (error) {
          reject(error);
        }
      },
      failed: reject,
    });
    send(question);
    return promise;
  }

  /** The next `count` questions were handled. They needed no answer except for the ids of some events. */
  done(count: number, ids?: DoneIds): void {
    if (count === 0) return;
    const nowMs = this.options.monotonic.now();
    let nextId = 0;
    for (let n = 0; n < count; n++) {
      const [position, id] = ids?.[nextId] ?? [];
      if (position === n) nextId++;
      this.take(nowMs).answered(position === n ? id : undefined);
    }
  }

  answer(answer: Answer): void {
    this.take(this.options.monotonic.now()).answered(answer);
  }

  failed(why: string): void {
    this.take(this.options.monotonic.now()).failed(new Error(why));
  }

  private take(nowMs: number): Pending {
    const pending = this.pending[this.next];
    if (pending === undefined) throw new Error('An answer came to no question');
    this.next++;
    this.options.meter.observe('engineAnswers', (nowMs - pending.askedAtMs) / 1000);
    if (this.next === this.pending.length || this.next > ANSWERED_MAX) {
      this.pending.splice(0, this.next);
      this.next = 0;
    }
    return pending;
  }
}

/** The answers of this home to one loop, in the order of its questions. */
export class Answers {
  /** How many questions were answered. */
  given = 0;
  private readonly send: (message: EngineMessage) => void;
  private done = 0;
  private ids: (readonly [position: number, id: EventId])[] = [];

  constructor(send: (message: EngineMessage) => void) {
    this.send = send;
  }

  /** The next question needs no answer, or only the id of an event. */
  took(id?: EventId): void {
    if (id !== undefined) this.ids.push([this.done, id]);
    this.done++;
    this.given++;
  }

  /** Answers the next question, which is of this kind. */
  answer<Kind extends QuestionKind = never>(answer: HomeAnswerTo<Kind>): void {
    const { done } = this;
    this.given++;
    this.send(
      this.ids.length === 0 ? ['answer', done, answer] : ['answer', done, answer, this.ids],
    );
    this.sent();
  }

  failed(why: string): void {
    const { done } = this;
    this.given++;
    this.send(this.ids.length === 0 ? ['failed', done, why] : ['failed', done, why, this.ids]);
    this.sent();
  }

  /** Called after each batch of questions. */
  flush(): void {
    const { done } = this;
    if (done > 0) this.send(this.ids.length === 0 ? ['done', done] : ['done', done, this.ids]);
    this.sent();
  }

  private sent(): void {
    this.done = 0;
    if (this.ids.length > 0) this.ids = [];
  }
}
