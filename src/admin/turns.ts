/** Lets changes follow one another, so that what one has checked still holds when it is made. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  /** Runs a change once all before it have ended, well or not. */
  take<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.last.then(change);
    // Whoever asked hears of a failure; the next in line goes on.
    this.last = turn.catch(() => undefined);
    return turn;
  }
}
