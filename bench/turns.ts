/** Lets pieces of work run one after another, in the order in which they asked. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs it when all that asked before have ended, well or not. */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
