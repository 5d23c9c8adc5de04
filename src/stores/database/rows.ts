import type { SQL } from 'bun';
import { isPostgres } from './dialect.ts';

/** An integer column: PostgreSQL returns large integers as text. */
export type BigInteger = number | string;

/** Rows in one statement, which has a limit of parameters. */
const ROWS_PER_STATEMENT = 500;

/** Splits a list into pieces that fit into one statement. */
export function* inPieces<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += ROWS_PER_STATEMENT) {
    yield all.slice(from, from + ROWS_PER_STATEMENT);
  }
}

/** The condition that a column is one of the numbers, with one parameter, so that the text does not depend on them. */
export function isAmong(sql: SQL, column: string, numbers: readonly number[]) {
  return isPostgres(sql)
    ? sql`${sql(column)} = ANY(${sql.array([...numbers], 'BIGINT')})`
    : sql`${sql(column)} IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`;
}
