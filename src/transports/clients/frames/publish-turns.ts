import type { MaybePromise } from '../../../channels/maybe-promise.ts';
import type { Turns } from '../../../channels/ports.ts';

export interface PublishTurnsOptions {
  /** The bytes that may be published in one turn, counted once for each receiver. */
  readonly bytesMax: number;
  /** Runs something once the loop has sent what was published in this turn. */
  readonly afterTurn: (run: () => void) => void;
  /** Publishes what coalescing holds back. */
  readonly flush: () => void;
  /** Called after the runtime has sent much, when it is known which clients do not read. */
  readonly sent: () => void;
}

/**
 * Bounds what one turn of the loop publishes. The runtime sends it at the end of the turn, and only then it is known how much of
 * it waits for slow readers. Without this, one request with ten events for thousands of them could take any memory at once.
 *
 * What has begun continues first; then requests that have not begun, apps in turn. Those wait as bodies and are bounded as such.
 */
export class PublishTurns implements Turns {
  private readonly options: PublishTurnsOptions;
  /** Bytes published since `sent` was last called. */
  private bytes = 0;
  private isFollowed = false;
  private readonly begun: (() => void)[] = [];
  /** Requests that have not begun, by app; the first app is next. No queue is empty. */
  private readonly waiting = new Map<string, (() => void)[]>();

  constructor(options: PublishTurnsOptions) {
    this.options = options;
  }

  /** Whether nothing more may be published in this turn. */
  get isFull(): boolean {
    return this.bytes >= this.options.bytesMax;
  }

  /** Whether a request may begin to publish. */
  get isOpen(): boolean {
    return !this.isFull && this.begun.length === 0 && this.waiting.size === 0;
  }

  /** Must be called for everything that is published. `bytes`: counted once for each receiver. */
  published(bytes: number): void {
    this.bytes += bytes;
    // Turns that publish little add up. From half of the limit on, we wait until it is sent.
    if (this.bytes >= this.options.bytesMax / 2) this.follow();
  }

  /** Runs a part of something that has begun: now, or in a later turn. */
  continue<T>(run: () => MaybePromise<T>): MaybePromise<T> {
    if (!this.isFull && this.begun.length === 0) return run();
    this.follow();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.begun.push(() => void Promise.try(run).then(resolve, reject));
    return promise;
  }

  /** Runs something of an app when `isOpen`. */
  begin(appId: string, run: () => void): void {
    this.follow();
    const queue = this.waiting.get(appId);
    if (queue === undefined) this.waiting.set(appId, [run]);
    else queue.push(run);
  }

  private follow(): void {
    if (this.isFollowed) return;
    this.isFollowed = true;
    const { flush, sent, afterTurn } = this.options;
    afterTurn(() => {
      flush();
      afterTurn(() => {
        this.bytes = 0;
        sent();
        // First the clients that do not read are closed.
        afterTurn(() => this.work());
      });
    });
  }

  private work(): void {
    this.isFollowed = false;
    while (!this.isFull) {
      const run = this.begun.shift() ?? this.nextWaiting();
      if (run === undefined) break;
      run();
    }
    if (this.bytes >= this.options.bytesMax / 2 || !this.isOpen) this.follow();
  }

  private nextWaiting(): (() => void) | undefined {
    const [next] = this.waiting;
    if (next === undefined) return undefined;
    const [appId, queue] = next;
    const run = queue.shift();
    // Deleted and set again, the app is the last one.
    this.waiting.delete(appId);
    if (queue.length > 0) this.waiting.set(appId, queue);
    return run;
  }
}
