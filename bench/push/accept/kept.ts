import { readFileSync } from 'node:fs';
import { SQL } from 'bun';
import type { Kind } from './requests.ts';

/** Compares what a server answered with what its store contains. */
export interface Kept {
  readonly answered: number;
  readonly stored: number;
  /** Answered with an id that the store does not have. */
  readonly missing: number;
}

const tables: Record<Kind, string> = { publishes: 'publishes', registrations: 'devices' };

/** Compares the ids of all answers, a line each, with those in the store. */
export async function compareKept(kind: Kind, idsFile: string, storeFile: string): Promise<Kept> {
  const answered = readFileSync(idsFile, 'utf8').split('\n');
  await using sql = new SQL({ adapter: 'sqlite', filename: storeFile, readonly: true });
  const rows: { id: string }[] = await sql.unsafe(`SELECT id FROM ${tables[kind]}`);
  const stored = new Set(rows.map(({ id }) => id));
  const missing = answered.filter((id) => !stored.has(id)).length;
  return { answered: answered.length, stored: rows.length, missing };
}

/** Nothing is lost, and nothing is stored that was not answered. */
export function isAllKept({ answered, stored, missing }: Kept): boolean {
  return missing === 0 && stored === answered;
}
