/** Between the loops of one process: asks for every request that has arrived, and says that all were forwarded. */
export interface ArrivalsMessage {
  readonly type: 'session';
  readonly arrivals: 'question' | 'answer';
}

/**
 * Turns of the event loop in which a loop accepts the connections that wait for it, and reads what they have sent: one for
 * each, and one to spare.
 */
const TURNS = 3;

export interface ArrivalsOptions {
  /** The numbers of the other loops. */
  readonly others: readonly number[];
  /** Sends a message to another loop. Messages arrive in order. */
  readonly send: (loop: number, message: ArrivalsMessage) => void;
  /** Runs something once the loop has handled everything that arrived in this turn. */
  readonly afterTurn: (run: () => void) => void;
}

/**
 * Lets a loop wait for requests that have arrived at other loops of the process. All loops share the port, so a client's
 * second request may be read after its first connection is seen to end, although it was sent before. One round of questions
 * serves all who wait.
 */
export class Arrivals {
  private readonly options: ArrivalsOptions;
  /** Callers that the round in progress serves, and those that wait for the next one. */
  private served: readonly (() => void)[] = [];
  private waiting: (() => void)[] = [];
  private unanswered = 0;

  constructor(options: ArrivalsOptions) {
    this.options = options;
  }

  /** Calls back when the other loops have forwarded every request that has arrived by now; at once if there are none. */
  after(run: () => void): void {
    if (this.options.others.length === 0) return run();
    this.waiting.push(run);
    if (this.unanswered === 0) this.ask();
  }

  receive(from: number, { arrivals }: ArrivalsMessage): void {
    if (arrivals === 'question') {
      this.afterTurns(TURNS, () => this.send(from, 'answer'));
      return;
    }
    this.unanswered--;
    if (this.unanswered > 0) return;
    const { served } = this;
    this.served = [];
    for (const run of served) run();
    if (this.waiting.length > 0 && this.unanswered === 0) this.ask();
  }

  private ask(): void {
    const { others } = this.options;
    this.served = this.waiting;
    this.waiting = [];
    this.unanswered = others.length;
    for (const loop of others) this.send(loop, 'question');
  }

  private send(loop: number, arrivals: ArrivalsMessage['arrivals']): void {
    this.options.send(loop, { type: 'session', arrivals });
  }

  private afterTurns(turns: number, run: () => void): void {
    if (turns === 0) return run();
    this.options.afterTurn(() => this.afterTurns(turns - 1, run));
  }
}
