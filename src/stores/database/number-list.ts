import type { SQL } from 'bun';
import type { Dialect } from './dialect.ts';

/** A condition with one parameter however many numbers there are: the text stays the same, and short. */
export function isAmong(dialect: Dialect, sql: SQL, column: string, numbers: readonly number[]) {
  return dialect === 'postgres'
    ? sql`${sql(column)} = ANY(${sql.array([...numbers], 'BIGINT')})`
    : sql`${sql(column)} IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`;
}
