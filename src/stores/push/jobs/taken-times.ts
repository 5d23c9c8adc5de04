import type { SQL, TransactionSQL } from 'bun';
import type { TakenTimes } from '../../../push/model/pace.ts';

/** Stores when the pages of a publish are sent. */
export async function writeTaken(
  sql: SQL | TransactionSQL,
  publish: number,
  taken: TakenTimes,
): Promise<void> {
  await sql`UPDATE publish_plans SET taken = ${JSON.stringify(taken)} WHERE publish = ${publish}`;
}

/** `null`: the publish does not say how many notifications it sends per second, or no page of it was planned. */
export function readTaken(text: string | null): TakenTimes | undefined {
  return text === null ? undefined : JSON.parse(text);
}
