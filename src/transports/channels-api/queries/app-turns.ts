import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MaybePromise } from '../../../channels/maybe-promise.ts';

/** What takes too long for one turn of the loop. */
export interface Work {
  /** Does the next part, of about a millisecond. Returns whether it was the last. */
  step(): MaybePromise<boolean>;
}

interface Waiting {
  readonly work: Work;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Does one part of the work of all apps in a turn of the loop, of each app in turn. The work of one app is done one after the
 * other, so only one takes memory.
 */
export class AppTurns {
  /** By app; the first app is next. No queue is empty. */
  private readonly queues = new Map<string, Waiting[]>();
  private isWorking = false;

  /** How much work of an app is not done. */
  countOf(appId: string): number {
    return this.queues.get(appId)?.length ?? 0;
  }

  /** Resolves when all of it is done. */
  run(appId: string, work: Work): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { work, resolve, reject };
    const queue = this.queues.get(appId);
    if (queue === undefined) this.queues.set(appId, [waiting]);
    else queue.push(waiting);
    if (!this.isWorking) void this.work();
    return promise;
  }

  private async work(): Promise<void> {
    this.isWorking = true;
    for (let [next] = this.queues; next !== undefined; [next] = this.queues) {
      await nextTurn();
      const [appId, queue] = next;
      // To the end of the queue.
      this.queues.delete(appId);
      this.queues.set(appId, queue);
      await this.advance(appId, queue);
    }
    this.isWorking = false;
  }

  private async advance(appId: string, queue: Waiting[]): Promise<void> {
    const [first] = queue;
    if (first === undefined) throw new Error('The queue of an app is empty');
    const { work, resolve, reject } = first;
    try {
      if (!(await work.step())) return;
      resolve();
    } catch (error) {
      // Only this work fails.
      reject(error);
    }
    queue.shift();
    if (queue.length === 0) this.queues.delete(appId);
  }
}
