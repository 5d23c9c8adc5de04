import { SQL } from 'bun';
import { StoreBusy } from '../../push/store-faults.ts';

/** What this version cannot open a store with; told to the operator as it is. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** PostgreSQL did not answer in time. */
export class StoreSilent extends SQL.SQLError {
  override readonly name = 'StoreSilent';
}

/** Classes of PostgreSQL's errors that tell of the statement, not of the database. Source: its Appendix A. */
const STATEMENT_CLASSES = ['22', '23', '40'];

/** Another transaction was in the way: the same change may succeed when it is tried again. */
const RETRY_STATES = [
  // serialization_failure, deadlock_detected, and two who insert the same row at the same time
  '40001',
  '40P01',
  '23505',
];

/** Whether an error came from one statement and what it was given, while the store itself works. */
export function isStatementFault(error: unknown): boolean {
  if (error instanceof SQL.SQLiteError) return error.code.startsWith('SQLITE_CONSTRAINT');
  if (error instanceof SQL.PostgresError) {
    return STATEMENT_CLASSES.includes(String(error.errno ?? '').slice(0, 2));
  }
  // Not the database's: whoever made the change threw it.
  return !(error instanceof SQL.SQLError);
}

/** Whether the same change may succeed when it is tried again at once. */
export function isPassing(error: unknown): boolean {
  return error instanceof SQL.PostgresError && RETRY_STATES.includes(String(error.errno ?? ''));
}

/** Whether an error tells that the store itself is broken. PostgreSQL can be mended while it runs. */
export function isDamage(error: unknown): boolean {
  return error instanceof SQL.SQLiteError && /^SQLITE_(?:CORRUPT|NOTADB)/.test(error.code);
}

/** Whether an error tells of the store, and not of a fault of this program. */
export function isStoreFault(error: unknown): boolean {
  return error instanceof SQL.SQLError || error instanceof StoreBusy;
}

/**
 * What the codes of both databases mean, by how they begin: SQLite's result codes, PostgreSQL's SQLSTATE, and
 * the codes of the client that connects to it. The first that fits counts.
 */
const meanings: readonly (readonly [string, string])[] = [
  ['SQLITE_FULL', 'the disk is full'],
  ['SQLITE_BUSY', 'another process holds the store locked'],
  ['SQLITE_LOCKED', 'another process holds the store locked'],
  ['SQLITE_READONLY', 'the store is read-only'],
  ['SQLITE_PERM', 'the store is read-only'],
  ['SQLITE_CORRUPT', 'the store is damaged'],
  ['SQLITE_NOTADB', 'the store is damaged'],
  ['SQLITE_CANTOPEN', "the store's file cannot be opened"],
  ['SQLITE_IOERR', 'the disk cannot be read or written'],
  ['SQLITE_NOMEM', 'there is no memory left'],
  ['53100', 'the disk is full'],
  ['53200', 'the database has no memory left'],
  ['53300', 'the database takes no more connections'],
  ['25006', 'the store is read-only'],
  ['42501', 'the database does not allow it'],
  // The shape of the tables is this program's own: nobody else may change it.
  ['42', 'the tables are gone from the database, or others than they were'],
  ['3D', 'the database is not there'],
  ['28', 'the database refuses the user or the password'],
  ['55P03', 'another process holds the store locked'],
  ['57014', 'the database takes too long'],
  ['57P', 'the database cannot be reached'],
  ['58', 'the disk cannot be read or written'],
  ['08', 'the database cannot be reached'],
  ['XX001', 'the store is damaged'],
  ['XX002', 'the store is damaged'],
  ['ERR_POSTGRES_CONNECTION', 'the database cannot be reached'],
  ['ERR_POSTGRES_IDLE_TIMEOUT', 'the database cannot be reached'],
  ['ERR_POSTGRES_LIFETIME_TIMEOUT', 'the database cannot be reached'],
  ['ERR_POSTGRES_TLS', 'the database cannot be reached by TLS'],
];

/** Says what is wrong with the store, in words for its operator that hold nothing of what is in it. */
export function plainFault(error: unknown): string {
  if (error instanceof StoreSilent) return 'the database does not answer';
  if (error instanceof StoreBusy) return 'too many changes wait for the store';
  if (error instanceof SQL.SQLError) {
    const code = codeOf(error);
    const known = meanings.find(([start]) => code.startsWith(start));
    return known?.[1] ?? `the store failed (${code})`;
  }
  return error instanceof Error ? error.message : String(error);
}

function codeOf(error: InstanceType<typeof SQL.SQLError>): string {
  // Of PostgreSQL's own errors, the code says only that they are such.
  if (error instanceof SQL.PostgresError) return String(error.errno ?? error.code);
  return error instanceof SQL.SQLiteError ? error.code : error.name;
}
