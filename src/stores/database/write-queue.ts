import type { TransactionSQL } from 'bun';
import { StoreBusy } from '../../push/store-faults.ts';
import { isPassing, isStatementFault } from './faults.ts';
import { type ChangeGroup, WaitingChanges, type WriteOwner } from './waiting-changes.ts';

/** Work that several changes of a commit leave to its end, to be done together. */
export interface CommitBatch<Item> {
  /** The place of the batch among those of a commit, by default 0. A fixed order of locks prevents deadlocks. */
  readonly place?: number;
  run(sql: TransactionSQL, items: readonly Item[]): Promise<void>;
}

/** Adds an item to a batch at the end of the commit. */
export type Later = <Item>(batch: CommitBatch<Item>, item: Item) => void;

/** One change of the store. It may run again if it shared a commit with one that failed. */
export type Change<T> = (sql: TransactionSQL, later: Later) => T | Promise<T>;

/** Runs work in one transaction; settles when it is durable. */
export type Begin = <T>(work: (sql: TransactionSQL) => Promise<T>) => Promise<T>;

interface Waiting {
  readonly owner: WriteOwner;
  readonly change: Change<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export interface WriteQueueOptions {
  readonly begin: Begin;
  /** 1 for SQLite, which has one writer. */
  readonly commitsAtOnce: number;
  /** A monotonic clock. Milliseconds. */
  readonly now: () => number;
  /** Called when a change is refused because too many wait. */
  readonly refused: (owner: WriteOwner) => void;
}

/** Limit of waiting changes of instances and the admin API, and another one of the server's own. */
const WAITING_MAX = 10_000;

/** Changes in one commit: enough to share the wait for the disk, few enough to keep commits short. */
const COMMIT_MAX = 256;

/**
 * A commit starts no further changes after this time, except for the first of each owner: a change may write thousands
 * of rows, and all changes of a commit settle together. Milliseconds.
 */
const COMMIT_MS = 50;

/** How often a change is tried if it conflicts with other transactions. */
const TRIES_MAX = 5;

/**
 * Group commit: changes that wait at the same time share a commit, and so a single wait for the disk. Each settles as
 * if it were alone: if one fails, the others are repeated without it. Owners share the queue fairly; see
 * `WaitingChanges`.
 */
export class WriteQueue {
  private readonly options: WriteQueueOptions;
  private readonly waiting = new WaitingChanges<Waiting>(WAITING_MAX);
  private committing = 0;
  private scheduled = false;
  private idle: PromiseWithResolvers<void> | undefined;

  constructor(options: WriteQueueOptions) {
    this.options = options;
  }

  /**
   * Settles when the change is durable. Rejects with `StoreBusy` if the queue is full and its owner has the most in
   * it.
   */
  run<T>(change: Change<T>, owner?: WriteOwner): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const waiting = { owner, change, resolve: resolve as Waiting['resolve'], reject };
    const refused = this.waiting.add(waiting);
    if (refused !== undefined) {
      this.options.refused(refused.owner);
      refused.reject(new StoreBusy('too many changes are waiting'));
    }
    this.schedule();
    return promise;
  }

  /** Settles when nothing waits. */
  async drained(): Promise<void> {
    if (this.waiting.size === 0 && this.committing === 0) return;
    this.idle ??= Promise.withResolvers();
    await this.idle.promise;
  }

  /** Commits after this turn of the event loop, so that all its changes share the commit. */
  private schedule(): void {
    if (this.scheduled || this.committing >= this.options.commitsAtOnce) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      void this.commitNext();
    });
  }

  private async commitNext(): Promise<void> {
    const group = this.waiting.take(COMMIT_MAX);
    this.committing += 1;
    if (this.waiting.size > 0) this.schedule();
    await this.commit(group);
    this.committing -= 1;
    if (this.waiting.size > 0) this.schedule();
    else if (this.committing === 0) {
      this.idle?.resolve();
      this.idle = undefined;
    }
  }

  /** Settles each change. Never throws. Changes that there was no time for wait again. */
  private async commit(group: ChangeGroup<Waiting>): Promise<void> {
    const { changes } = group;
    const [one, ...others] = changes;
    if (one === undefined) return;
    if (others.length === 0) {
      await this.commitAlone(one);
      return;
    }
    try {
      const results = await this.options.begin((sql) => this.runChanges(sql, group));
      for (const [index, result] of results.entries()) changes[index]?.resolve(result as never);
      if (results.length < changes.length) this.waiting.putBack(changes.slice(results.length));
    } catch (error) {
      if (isStatementFault(error)) {
        // Bisects until the failing change is alone: of 256 changes, 16 commits instead of 256.
        const middle = changes.length >> 1;
        for (const half of [changes.slice(0, middle), changes.slice(middle)]) {
          await this.commit({ changes: half, mustRun: half.length });
        }
      } else {
        for (const { reject } of changes) reject(error);
      }
    }
  }

  private async commitAlone(one: Waiting): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        const alone = { changes: [one], mustRun: 1 };
        const [result] = await this.options.begin((sql) => this.runChanges(sql, alone));
        one.resolve(result as never);
        return;
      } catch (error) {
        if (tries < TRIES_MAX && isPassing(error)) continue;
        one.reject(error);
        return;
      }
    }
  }

  /** Runs as many changes of a group as the time allows, and returns their results. */
  private async runChanges(
    sql: TransactionSQL,
    { changes, mustRun }: ChangeGroup<Waiting>,
  ): Promise<unknown[]> {
    const { now } = this.options;
    const endMs = now() + COMMIT_MS;
    const batches = new Map<CommitBatch<unknown>, unknown[]>();
    const later: Later = (batch, item) => {
      const items = batches.get(batch as CommitBatch<unknown>);
      if (items === undefined) batches.set(batch as CommitBatch<unknown>, [item]);
      else items.push(item);
    };
    const results: unknown[] = [];
    for (const { change } of changes) {
      if (results.length >= mustRun && now() >= endMs) break;
      const result = change(sql, later);
      // Changes that only add to a batch are many, and return no promise.
      results.push(result instanceof Promise ? await result : result);
    }
    const inOrder = [...batches].sort(([a], [b]) => (a.place ?? 0) - (b.place ?? 0));
    for (const [batch, items] of inOrder) await batch.run(sql, items);
    return results;
  }
}
