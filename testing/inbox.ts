/** Longer than a test waits for anything. A failure after that time says what was awaited. */
const WAIT_MAX_MS = 60_000;

/** A queue of received messages. Taking one waits until it has arrived. */
export class Inbox<T> {
  private readonly items: T[] = [];
  private readonly name: string;
  private failure: Error | undefined;
  private wake: (() => void) | undefined;

  /** `name` is named in failures. */
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
    throw this.failure ?? new Error(`${this.name} received nothing more`);
  }

  /** Drops messages up to the first that fits, and returns that one. */
  async first(fits: (item: T) => boolean): Promise<T> {
    for (;;) {
      const item = await this.next();
      if (fits(item)) return item;
    }
  }
}
