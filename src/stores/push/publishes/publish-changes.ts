import type { TransactionSQL } from 'bun';
import type { CommitBatch } from '../../database/write-queue.ts';
import { type LockedPublish, lockPublishes, readWhole } from './locked-publish.ts';
import { settlePublishes } from './settle-publishes.ts';

/**
 * Changes of the counts and the work of publishes, made at the end of a commit under a lock of each publish.
 *
 * Lock order, by which no two commits wait for each other in a circle:
 * 1. Plans, pages and retries that the commit claims. It skips rows that are locked.
 * 2. The counts of instances, by number.
 * 3. Publishes, by number.
 * 4. Plans, pages and retries of locked publishes. The commit skips rows that are locked, and never waits for one:
 *    the transaction that has locked it is claiming it, and waits for the publish.
 */

/** A change of one publish, made while it is locked; skipped if the publish was deleted. */
export type PublishChange = {
  readonly publish: number;
  /** Whether it needs `LockedPublish.underWay`, unless the publish is finished. */
  readonly needsBody?: boolean;
} & (
  | { run(sql: TransactionSQL, locked: LockedPublish): Promise<void> }
  | { readonly batched: BatchedChange<unknown>; readonly item: unknown }
);

/** One item of a batched change. */
export interface LockedItem<Item> {
  readonly locked: LockedPublish;
  readonly item: Item;
}

/** A change of many publishes with few statements. One publish may have several items. */
export interface BatchedChange<Item> {
  run(sql: TransactionSQL, items: readonly LockedItem<Item>[]): Promise<void>;
}

/** A change that is batched with others of its kind, and made after the changes that are not batched. */
export function changeTogether<Item>(
  publish: number,
  batched: BatchedChange<Item>,
  item: Item,
): PublishChange {
  return { publish, batched: batched as BatchedChange<unknown>, item };
}

/**
 * All publish changes of a commit, which may concern hundreds of small publishes:
 * 1. lock the publishes, 2. read the bodies that are needed, 3. make single changes, 4. make batched changes,
 * 5. write the counts and finish publishes without remaining work.
 */
export const publishChanges: CommitBatch<PublishChange> = {
  // After the counts of instances, see the lock order.
  place: 1,
  async run(sql, changes) {
    const byPublish = [...Map.groupBy(changes, ({ publish }) => publish)].sort(([a], [b]) => a - b);
    const numbers = byPublish.map(([publish]) => publish);
    const lockedByNumber = await lockPublishes(sql, numbers);
    const withBody = byPublish.flatMap(([publish, some]) => {
      const locked = lockedByNumber.get(publish);
      const needsBody = locked?.isOver === false && some.some((change) => change.needsBody);
      return needsBody ? locked : [];
    });
    await readWhole(sql, withBody);
    const batches = new Map<BatchedChange<unknown>, LockedItem<unknown>[]>();
    for (const [publish, some] of byPublish) {
      const locked = lockedByNumber.get(publish);
      if (locked === undefined) continue;
      for (const change of some) {
        if ('run' in change) {
          await change.run(sql, locked);
          continue;
        }
        const items = batches.get(change.batched) ?? [];
        batches.set(change.batched, items);
        items.push({ locked, item: change.item });
      }
    }
    for (const [batched, items] of batches) await batched.run(sql, items);
    await settlePublishes(sql, [...lockedByNumber.values()]);
  },
};
