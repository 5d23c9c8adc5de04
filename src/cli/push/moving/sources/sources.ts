import { UsageError } from '../../../output.ts';
import { readExport, readSubscriptions } from './ndjson.ts';
import { readOneSignal } from './onesignal.ts';
import type { ReadSource } from './source-row.ts';
import { tokenList } from './token-list.ts';

/** What devices can be read from, by the value of `--from`. */
export const sources = {
  fanfare: readExport,
  onesignal: readOneSignal,
  fcm: tokenList('fcm'),
  apns: tokenList('apns'),
  webpush: readSubscriptions,
} as const satisfies Readonly<Record<string, ReadSource>>;

export type SourceName = keyof typeof sources;

export const sourceNames = Object.keys(sources) as readonly SourceName[];

/** The source that a file is of, if its name says so. Throws `UsageError` if it does not. */
export function sourceOf(file: string): SourceName {
  if (/\.ndjson(?:\.gz)?$/i.test(file)) return 'fanfare';
  throw new UsageError(`--from is missing: one of ${sourceNames.join(', ')}`);
}
