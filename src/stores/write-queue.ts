import type { TransactionSQL } from 'bun';
import { isPassing, isStatementFault, StoreBusy } from './faults.ts';

/** What several changes of one commit leave to be done together at its end. */
export interface Batch<Item> {
  /**
   * Its place among the batches of a commit; 0 where none is given. Two commits that hold rows of two kinds each
   * in another order would wait for each other.
   */
  readonly place?: number;
  run(sql: TransactionSQL, items: readonly Item[]): Promise<void>;
}

/** Leaves something to the end of the commit. */
export type Later = <Item>(batch: Batch<Item>, item: Item) => void;

/** One change of the store. It may run again where it shared a commit with one that failed. */
export type Change<T> = (sql: TransactionSQL, later: Later) => T | Promise<T>;

/** Runs work in one transaction; settles when it is durable. */
export type Begin = <T>(work: (sql: TransactionSQL) => Promise<T>) => Promise<T>;

interface Waiting {
  readonly change: Change<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Changes that may wait; one more is refused. */
const WAITING_MAX = 10_000;

/** Changes that share one commit: enough that the disk is asked seldom, few enough that nobody waits long. */
const COMMIT_MAX = 256;

/** How often a change is tried when other transactions are in its way. */
const TRIES_MAX = 5;

/**
 * Puts changes that wait at the same time into one commit, so that they share one wait for the disk. Each
 * settles as if it had been alone: where one of them fails, the others are done again without it.
 */
export class WriteQueue {
  private readonly begin: Begin;
  /** One for SQLite, which has one writer; more where commits may overlap. */
  private readonly commitsAtOnce: number;
  private waiting: Waiting[] = [];
  private committing = 0;
  private scheduled = false;
  private idle: PromiseWithResolvers<void> | undefined;

  constructor(begin: Begin, commitsAtOnce: number) {
    this.begin = begin;
    this.commitsAtOnce = commitsAtOnce;
  }

  /** Settles when the change is durable. Rejects with `StoreBusy` where too many wait. */
  run<T>(change: Change<T>): Promise<T> {
    if (this.waiting.length >= WAITING_MAX) {
      return Promise.reject(new StoreBusy(`${WAITING_MAX} changes wait for the store`));
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.waiting.push({ change, resolve: resolve as Waiting['resolve'], reject });
    this.schedule();
    return promise;
  }

  /** Settles when nothing waits. */
  async drained(): Promise<void> {
    if (this.waiting.length === 0 && this.committing === 0) return;
    this.idle ??= Promise.withResolvers();
    await this.idle.promise;
  }

  /** After this turn of the loop: what it brings along shares the commit. */
  private schedule(): void {
    if (this.scheduled || this.committing >= this.commitsAtOnce) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      void this.commitNext();
    });
  }

  private async commitNext(): Promise<void> {
    const group =
      this.waiting.length <= COMMIT_MAX ? this.waiting : this.waiting.slice(0, COMMIT_MAX);
    this.waiting = this.waiting.length <= COMMIT_MAX ? [] : this.waiting.slice(COMMIT_MAX);
    this.committing += 1;
    if (this.waiting.length > 0) this.schedule();
    await this.commit(group);
    this.committing -= 1;
    if (this.waiting.length > 0) this.schedule();
    else if (this.committing === 0) {
      this.idle?.resolve();
      this.idle = undefined;
    }
  }

  /** Never throws: each change hears of its own fate. */
  private async commit(group: readonly Waiting[]): Promise<void> {
    const [one, ...others] = group;
    if (one === undefined) return;
    if (others.length === 0) {
      await this.commitAlone(one);
      return;
    }
    try {
      const results = await this.begin((sql) => runAll(sql, group));
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as never);
    } catch (error) {
      if (isStatementFault(error)) {
        // Halved until the one that fails is alone: with 256 of them that is some 16 commits, not 256.
        const half = group.length >> 1;
        await this.commit(group.slice(0, half));
        await this.commit(group.slice(half));
      } else {
        for (const { reject } of group) reject(error);
      }
    }
  }

  private async commitAlone(one: Waiting): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        const [result] = await this.begin((sql) => runAll(sql, [one]));
        one.resolve(result as never);
        return;
      } catch (error) {
        if (tries < TRIES_MAX && isPassing(error)) continue;
        one.reject(error);
        return;
      }
    }
  }
}

async function runAll(sql: TransactionSQL, group: readonly Waiting[]): Promise<unknown[]> {
  const batches = new Map<Batch<unknown>, unknown[]>();
  const later: Later = (batch, item) => {
    const items = batches.get(batch as Batch<unknown>);
    if (items === undefined) batches.set(batch as Batch<unknown>, [item]);
    else items.push(item);
  };
  const results: unknown[] = [];
  for (const { change } of group) {
    const result = change(sql, later);
    // Those that leave everything to a batch are many, and have nothing to wait for.
    results.push(result instanceof Promise ? await result : result);
  }
  const inOrder = [...batches].sort(([a], [b]) => (a.place ?? 0) - (b.place ?? 0));
  for (const [batch, items] of inOrder) await batch.run(sql, items);
  return results;
}
