import type { SQL } from 'bun';
import { StoreLost } from '../../push/store-faults.ts';
import type { BigInteger } from './rows.ts';

/** Data that servers keep in memory, and that therefore has a revision. */
export type Revised = 'apps' | 'certificates' | 'instances' | 'revocations';

/** Each has a row whose revision is increased by each change. */
export const revised: readonly Revised[] = ['apps', 'certificates', 'instances', 'revocations'];

/** Reads a revision. */
export async function revisionOf(sql: SQL, what: Revised): Promise<number> {
  return (await revisionsOf(sql, [what]))[what];
}

/** Reads some revisions. Throws `StoreLost` if one is missing, because every migrated store has it. */
export async function revisionsOf<What extends Revised>(
  sql: SQL,
  whats: readonly What[],
): Promise<Readonly<Record<What, number>>> {
  const rows: { what: string; revision: BigInteger }[] = await sql`
    SELECT what, revision FROM revisions WHERE what IN ${sql(whats)}`;
  if (rows.length < whats.length) {
    throw new StoreLost('the store has lost its contents; restart the server');
  }
  const found = rows.map(({ what, revision }) => [what, Number(revision)]);
  return Object.fromEntries(found);
}
