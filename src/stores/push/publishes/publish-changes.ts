import type { TransactionSQL } from 'bun';
import type { Dialect } from '../../database/dialect.ts';
import type { Batch } from '../../database/write-queue.ts';
import { type HeldPublish, holdPublishes, readWhole } from './locked-publish.ts';
import { settlePublishes } from './settle-publishes.ts';

/** Something that a commit does with one publish while it holds it; nothing where the publish is gone. */
export type PublishChange = {
  readonly dialect: Dialect;
  readonly publish: number;
  /** Whether it hands the publish on, unless it is over. */
  readonly isHandedOn?: boolean;
} & (
  | { run(sql: TransactionSQL, held: HeldPublish): Promise<void> }
  | { readonly together: Together<unknown>; readonly item: unknown }
);

/** One of the things that are done together. */
export interface HeldItem<Item> {
  readonly held: HeldPublish;
  readonly item: Item;
}

/** What is done to several publishes with few statements. Of one publish there may be several. */
export interface Together<Item> {
  run(dialect: Dialect, sql: TransactionSQL, items: readonly HeldItem<Item>[]): Promise<void>;
}

/** A change that is done together with others of its kind, after those that are done by themselves. */
export function changeTogether<Item>(
  dialect: Dialect,
  publish: number,
  together: Together<Item>,
  item: Item,
): PublishChange {
  return { dialect, publish, together: together as Together<unknown>, item };
}

/**
 * All that changes what is counted or waits of a publish is done here, for publishes in one order: two commits
 * then wait for each other, and never in a circle. Only claims are made before, and wait for the publish with what
 * they have claimed in their hands: so nobody who holds a publish may wait for one of its rows. One that somebody
 * holds is being taken over.
 *
 * What is the same for all publishes of a commit is one statement for all of them: most are small, and there may be
 * hundreds.
 */
export const publishChanges: Batch<PublishChange> = {
  // After the devices of an instance are counted, whose row is held by many as well.
  place: 1,
  async run(sql, changes) {
    const [first] = changes;
    if (first === undefined) return;
    const { dialect } = first;
    const byPublish = [...Map.groupBy(changes, ({ publish }) => publish)].sort(([a], [b]) => a - b);
    const numbers = byPublish.map(([publish]) => publish);
    const held = await holdPublishes(dialect, sql, numbers);
    const handedOn = byPublish.flatMap(([publish, changes]) => {
      const one = held.get(publish);
      return one !== undefined && !one.isOver && changes.some((change) => change.isHandedOn)
        ? one
        : [];
    });
    await readWhole(dialect, sql, handedOn);
    const together = new Map<Together<unknown>, HeldItem<unknown>[]>();
    for (const [publish, changes] of byPublish) {
      const one = held.get(publish);
      if (one === undefined) continue;
      for (const change of changes) {
        if ('run' in change) {
          await change.run(sql, one);
          continue;
        }
        const items = together.get(change.together);
        const item = { held: one, item: change.item };
        if (items === undefined) together.set(change.together, [item]);
        else items.push(item);
      }
    }
    for (const [kind, some] of together) await kind.run(dialect, sql, some);
    await settlePublishes(dialect, sql, [...held.values()]);
  },
};
