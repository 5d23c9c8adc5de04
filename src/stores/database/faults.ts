import { SQL } from 'bun';
import { StoreBusy } from '../../push/store-faults.ts';
import { errorCode, messageOf } from '../../runtime/error-code.ts';

/** Why a store cannot be used. The message is for the operator. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The database cannot be used at the moment: it cannot be reached, or refuses us. Another attempt may succeed. */
export class StoreAway extends StoreUnavailable {}

/** PostgreSQL did not answer in time. */
export class StoreSilent extends SQL.SQLError {
  override readonly name = 'StoreSilent';
}

/** Classes of PostgreSQL's errors that are about the statement, not the database. Source: its Appendix A. */
const STATEMENT_CLASSES = ['22', '23', '40'];

/** Conflicts with other transactions: the same change may succeed if it is repeated. */
const RETRY_STATES = [
  // serialization_failure, deadlock_detected, unique_violation by concurrent inserts
  '40001',
  '40P01',
  '23505',
];

/** Whether an error is about one statement and its values, while the store itself works. */
export function isStatementFault(error: unknown): boolean {
  if (error instanceof SQL.SQLiteError) return error.code.startsWith('SQLITE_CONSTRAINT');
  if (error instanceof SQL.PostgresError) {
    return STATEMENT_CLASSES.includes(sqlState(error).slice(0, 2));
  }
  // Thrown by the change itself.
  return !(error instanceof SQL.SQLError);
}

/** Whether the same change may succeed if it is repeated at once. */
export function isPassing(error: unknown): boolean {
  return RETRY_STATES.includes(sqlState(error));
}

/**
 * What PostgreSQL answers while it is away or does not let us in: classes and codes of its Appendix A. It also starts before
 * its users and databases are made and have their rights, and a standby becomes writable when it is promoted.
 */
const AWAY_STATES = ['08', '25006', '28', '3D', '42501', '53', '55P03', '57P', '58'];

/** Whether PostgreSQL cannot be used at the moment, for a reason that may pass without a change here. */
export function isAway(error: unknown): boolean {
  if (error instanceof SQL.SQLiteError) return false;
  const state = sqlState(error);
  if (state !== '') return AWAY_STATES.some((start) => state.startsWith(start));
  if (error instanceof SQL.SQLError) return true;
  // Of the connection, like those of OpenSSL about a certificate. Others are about an argument of ours.
  const code = errorCode(error);
  return typeof code === 'string' && !code.startsWith('ERR_INVALID_');
}

/** Whether an error means that the store is damaged. PostgreSQL can be repaired while it runs. */
export function isDamage(error: unknown): boolean {
  return error instanceof SQL.SQLiteError && /^SQLITE_(?:CORRUPT|NOTADB)/.test(error.code);
}

/** Whether an error is about the store, and not a bug of this program. */
export function isStoreFault(error: unknown): boolean {
  return error instanceof SQL.SQLError || error instanceof StoreBusy;
}

/** The SQLSTATE that PostgreSQL, or a pooler before it, gave an error; empty if it gave none. */
export function sqlState(error: unknown): string {
  return error instanceof SQL.PostgresError ? String(error.errno ?? '') : '';
}

/**
 * The meaning of error codes by prefix; the first match counts. They are SQLite's result codes, PostgreSQL's SQLSTATE,
 * and the codes of Bun's client.
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
  ['SQLITE_PROTOCOL', 'the file system does not give the store its locks'],
  ['SQLITE_IOERR_LOCK', 'the file system does not give the store its locks'],
  ['SQLITE_IOERR_RDLOCK', 'the file system does not give the store its locks'],
  ['SQLITE_IOERR_SHM', 'the file system does not let programs share memory'],
  ['SQLITE_IOERR', 'the disk cannot be read or written'],
  ['SQLITE_NOMEM', 'out of memory'],
  ['53100', 'the disk is full'],
  ['53200', 'the database is out of memory'],
  ['53300', 'the database accepts no more connections'],
  ['25006', 'the store is read-only'],
  // After 15 s in the middle of a change.
  ['25P03', 'this server did not run for a while, and the database ended its connection'],
  ['25P04', 'the database ends changes that take long (transaction_timeout)'],
  ['26000', 'a pooler in transaction mode lost a statement of this server'],
  ['42P05', 'a pooler in transaction mode lost a statement of this server'],
  ['42501', 'the database does not allow it'],
  // Only this program may change its tables: undefined table, column, object, constraint.
  ['42P01', 'the tables in the database are missing or were changed'],
  ['42703', 'the tables in the database are missing or were changed'],
  ['42704', 'the tables in the database are missing or were changed'],
  ['42P10', 'the tables in the database are missing or were changed'],
  ['42804', 'the tables in the database are missing or were changed'],
  ['42883', 'the database lacks a function that this server needs'],
  ['42', 'the database does not understand a statement of this server'],
  ['3F', 'the database has no schema of its search_path'],
  ['3D', 'the database does not exist'],
  ['28', 'the database rejects the user or the password'],
  ['55P03', 'another process holds the store locked'],
  ['57014', 'the database takes too long'],
  ['57P03', 'the database is starting or stopping'],
  ['57P', 'the database cannot be reached'],
  ['58', 'the disk cannot be read or written'],
  ['08P01', 'the database or a pooler before it refuses how this server talks to it'],
  ['08', 'the database cannot be reached'],
  ['XX001', 'the store is damaged'],
  ['XX002', 'the store is damaged'],
  ['ERR_POSTGRES_CONNECTION', 'the database cannot be reached'],
  ['ERR_POSTGRES_IDLE_TIMEOUT', 'the database cannot be reached'],
  ['ERR_POSTGRES_LIFETIME_TIMEOUT', 'the database cannot be reached'],
  ['ERR_POSTGRES_TLS', 'the database cannot be reached by TLS'],
];

/** Describes a fault of the store for its operator, without any of its data. */
export function plainFault(error: unknown): string {
  if (error instanceof StoreSilent) return 'the database does not answer';
  if (error instanceof StoreBusy) return 'too many changes are waiting for the store';
  if (error instanceof SQL.SQLError) {
    const code = codeOf(error);
    const known = meanings.find(([start]) => code.startsWith(start));
    return known?.[1] ?? `the store failed (${code})`;
  }
  return messageOf(error);
}

function codeOf(error: InstanceType<typeof SQL.SQLError>): string {
  // For PostgreSQL's errors, `code` is always the same.
  if (error instanceof SQL.PostgresError) return sqlState(error) || error.code;
  return error instanceof SQL.SQLiteError ? error.code : error.name;
}
