/** Runs asynchronous work one piece at a time, in the order of the calls. */
export class Mutex {
  private last: Promise<unknown> = Promise.resolve();

  /** Runs `work` once all earlier work has settled. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.last.then(work);
    // The caller gets a failure; later work runs anyway.
    this.last = result.catch(() => undefined);
    return result;
  }
}
