import { backUpStore } from '../stores/database/backup.ts';
import { type Invocation, printResult } from './invocation.ts';
import { onlyOperand } from './options.ts';
import type { ExitCode } from './output.ts';
import { readConfig } from './read-config.ts';

/** `fanfare backup FILE`: copies the store, even while a server uses it. */
export async function backup(invocation: Invocation): Promise<ExitCode> {
  const target = onlyOperand(invocation.given, 'the name of the new file is missing');
  const config = readConfig(invocation);
  if (config === undefined) return 2;
  const made = await backUpStore(config.store.url, target);
  return printResult(invocation, {
    json: made,
    text: `The store was copied to ${made.file} (${made.bytes} bytes).`,
  });
}
