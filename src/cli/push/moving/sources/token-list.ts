import { UsageError } from '../../../output.ts';
import { recordsOf } from './csv.ts';
import {
  device,
  type ReadSource,
  refused,
  type SourceOptions,
  type SourceRow,
} from './source-row.ts';

const COLUMNS = ['token', 'userId', 'interests', 'language', 'timeZone'] as const;

type Column = (typeof COLUMNS)[number];

/** Reads tokens, one per line, or a table whose first line names its columns. Interests are separated by spaces. */
export function tokenList(platform: 'apns' | 'fcm'): ReadSource {
  return async function* read(text, options) {
    let columns: readonly string[] | undefined;
    for await (const record of recordsOf(text)) {
      if (columns === undefined) {
        columns = columnsOf(record);
        if (columns !== undefined) continue;
        columns = ['token'];
      }
      yield rowOf(record, { columns, platform, options });
    }
  };
}

/** The names of columns in a first line; `undefined`: it is a token already. */
function columnsOf(record: readonly string[]): readonly string[] | undefined {
  const names = record.map((name) => name.trim());
  if (!names.includes('token')) {
    if (names.length === 1) return undefined;
    throw new UsageError(
      `the first line must name the columns, of which one is token: ${COLUMNS.join(',')}`,
    );
  }
  const unknown = names.find((name) => !COLUMNS.includes(name as Column));
  if (unknown === undefined) return names;
  throw new UsageError(`the column "${unknown}" is unknown; there are ${COLUMNS.join(', ')}`);
}

function rowOf(
  record: readonly string[],
  {
    columns,
    platform,
    options,
  }: {
    readonly columns: readonly string[];
    readonly platform: 'apns' | 'fcm';
    readonly options: SourceOptions;
  },
): SourceRow {
  if (record.length > columns.length) return refused('', 'has more fields than the first line');
  const field = (name: Column) => record[columns.indexOf(name)]?.trim();
  const interests = field('interests');
  return device({
    platform,
    token: field('token') ?? '',
    bundleId: platform === 'apns' ? options.bundle : undefined,
    userId: field('userId'),
    interests: interests ? interests.split(/\s+/) : undefined,
    language: field('language'),
    timeZone: field('timeZone'),
  });
}
