import { Database } from 'bun:sqlite';
import { join } from 'node:path';

/** Reads the store of a test's server beside it, without ever writing. */

/** A row that stands for one publish; the outline says whom it was for. */
export interface PublishRow {
  readonly number: number;
  readonly id: string;
  readonly outline: string;
}

export interface TokenRow {
  readonly id: string;
  readonly token: string;
}

/** Opens what `startFanfare` has made its store. */
export function openRows(server: { readonly directory: string }): Database {
  return new Database(join(server.directory, 'fanfare.db'), { readonly: true });
}

/** The publishes that came after one, in the order in which they came. */
export function publishesAfter(rows: Database, number: number): readonly PublishRow[] {
  return rows
    .query<PublishRow, [number]>('SELECT number, id, outline FROM publishes WHERE number > ?')
    .all(number);
}

export function deviceTokens(rows: Database): readonly TokenRow[] {
  return rows.query<TokenRow, []>('SELECT id, token FROM devices').all();
}

/** The first column of the only row. */
export function countOf(rows: Database, statement: string): number {
  const row = rows.query<Record<string, number>, []>(statement).get();
  return Object.values(row ?? {})[0] ?? 0;
}

/** What can only be there when a change was made by half: empty where the store is in order. */
export function brokenRows(rows: Database): readonly string[] {
  return invariants.filter(([, statement]) => countOf(rows, statement) > 0).map(([what]) => what);
}

const invariants: readonly (readonly [what: string, broken: string])[] = [
  [
    'the number of an instance’s devices is another one than it says',
    `SELECT COUNT(*) FROM instance_numbers WHERE devices <>
      (SELECT COUNT(*) FROM devices WHERE devices.instance = instance_numbers.number)`,
  ],
  [
    'a token has two devices',
    'SELECT COUNT(*) FROM (SELECT 1 FROM devices GROUP BY instance, token HAVING COUNT(*) > 1)',
  ],
  [
    'interests are left of a device, and will never be removed',
    `SELECT COUNT(*) FROM device_interests
      WHERE device NOT IN (SELECT number FROM devices UNION SELECT number FROM removed_devices)`,
  ],
  [
    'a key stands for a publish that is not there',
    'SELECT COUNT(*) FROM publish_keys WHERE publish_id NOT IN (SELECT id FROM publishes)',
  ],
];
