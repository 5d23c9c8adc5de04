import { SCHEMA_NAME } from '../../config/settings/sources-settings.ts';
import { outboxSql } from '../../sources/schema.ts';
import type { Invocation } from '../invocation.ts';
import { noOperand, type Option } from '../options.ts';
import { type ExitCode, UsageError } from '../output.ts';

export const SOURCE_SQL_OPTIONS: readonly Option[] = [
  {
    name: 'schema',
    value: 'NAME',
    help: 'The schema of the table and functions: as `sources[].schema`. Default: fanfare.',
  },
];

/** `fanfare source sql`: prints the SQL of an outbox. */
export async function sourceSql({ given, output }: Invocation): Promise<ExitCode> {
  noOperand(given);
  const schema = given.value('schema') ?? 'fanfare';
  if (!SCHEMA_NAME.test(schema)) {
    throw new UsageError('--schema must be 1 to 63 of a-z, 0-9 and _, not beginning with a digit');
  }
  output.print(outboxSql(schema).trimEnd());
  return 0;
}
