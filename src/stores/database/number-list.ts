import type { SQL } from 'bun';
import type { Dialect } from './dialect.ts';

/** The condition that a column is one of the numbers, with one parameter, so that the text does not depend on them. */
export function isAmong(dialect: Dialect, sql: SQL, column: string, numbers: readonly number[]) {
  return dialect === 'postgres'
    ? sql`${sql(column)} = ANY(${sql.array([...numbers], 'BIGINT')})`
    : sql`${sql(column)} IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`;
}
