import { backUpStore } from '../stores/database/backup.ts';
import type { Arguments } from './options.ts';
import { type ExitCode, type Output, UsageError } from './output.ts';
import { readConfig } from './read-config.ts';

/** `fanfare backup FILE`: copies the store, also while a server uses it. */
export async function backup(given: Arguments, output: Output): Promise<ExitCode> {
  const [target, more] = given.words;
  if (target === undefined) throw new UsageError('into which file? Its name is missing');
  if (more !== undefined) throw new UsageError(`unexpected "${more}"`);
  const config = readConfig(given.value('config'), output);
  if (config === undefined) return 2;
  const made = await backUpStore(config.store.url, target);
  output.print(
    given.has('json')
      ? JSON.stringify(made)
      : `The store is copied to ${made.file} (${made.bytes} bytes).`,
  );
  return 0;
}
