/** Runs asynchronous work one piece at a time, in the order of the calls. */
export class Mutex {
  private last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after all earlier work has ended, well or not. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.last.then(work);
    // The caller sees a failure; later work runs all the same.
    this.last = result.catch(() => undefined);
    return result;
  }
}
