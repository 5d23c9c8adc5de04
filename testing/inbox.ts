/** Longer than anything a test waits for; what has not come by then is a failure that says what was waited for. */
const WAIT_MAX_MS = 25_000;

/** A queue of received messages. Taking one waits until it has arrived. */
export class Inbox<T> {
  private readonly items: T[] = [];
  private readonly name: string;
  private failure: Error | undefined;
  private wake: (() => void) | undefined;

  /** `name` is what a failure calls it. */
  constructor(name: string) {
    this.name = name;
  }

  put(item: T): void {
    this.items.push(item);
    this.wake?.();
  }

  /** Makes every later take fail: nothing more will arrive. */
  fail(failure: Error): void {
    this.failure ??= failure;
    this.wake?.();
  }

  /** Takes the next one. */
  async next(): Promise<T> {
    if (this.items.length === 0 && this.failure === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wake = resolve;
      const timer = setTimeout(resolve, WAIT_MAX_MS);
      await promise;
      clearTimeout(timer);
      this.wake = undefined;
    }
    const [item] = this.items.splice(0, 1);
    if (item !== undefined) return item;
    throw this.failure ?? new Error(`${this.name} heard nothing more`);
  }

  /** Takes what comes up to the first one that fits, and gives that one. */
  async first(fits: (item: T) => boolean): Promise<T> {
    for (;;) {
      const item = await this.next();
      if (fits(item)) return item;
    }
  }
}
