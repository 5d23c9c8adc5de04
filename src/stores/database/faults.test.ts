import { describe, expect, it } from 'bun:test';
import { SQL } from 'bun';
import { StoreBusy } from '../../push/store-faults.ts';
import { isAway, isStatementFault, isStoreFault, plainFault, StoreSilent } from './faults.ts';

const sqlite = (code: string) => new SQL.SQLiteError('secret', { code, errno: 1 });
const postgres = (code: string, errno?: string) =>
  new SQL.PostgresError('secret', {
    code,
    errno,
    detail: '',
    hint: '',
    severity: '',
  });
const server = (errno: string) => postgres('ERR_POSTGRES_SERVER_ERROR', errno);

describe('a fault of the store', () => {
  it.each([
    ['the disk is full', sqlite('SQLITE_FULL')],
    ['another process holds the store locked', sqlite('SQLITE_BUSY_SNAPSHOT')],
    ['the store is read-only', sqlite('SQLITE_READONLY_DIRECTORY')],
    ['the store is damaged', sqlite('SQLITE_CORRUPT')],
    ['the store is damaged', sqlite('SQLITE_NOTADB')],
    ['the disk cannot be read or written', sqlite('SQLITE_IOERR_WRITE')],
    ['the file system does not give the store its locks', sqlite('SQLITE_PROTOCOL')],
    ['the file system does not give the store its locks', sqlite('SQLITE_IOERR_LOCK')],
    ['the file system does not let programs share memory', sqlite('SQLITE_IOERR_SHMMAP')],
    ['the store failed (SQLITE_ERROR)', sqlite('SQLITE_ERROR')],
    ['the disk is full', server('53100')],
    ['the store is read-only', server('25006')],
    ['this server did not run for a while, and the database ended its connection', server('25P03')],
    ['the database cannot be reached', server('57P01')],
    ['the database is starting or stopping', server('57P03')],
    ['the database takes too long', server('57014')],
    ['the tables in the database are missing or were changed', server('42P01')],
    ['the tables in the database are missing or were changed', server('42703')],
    ['a pooler in transaction mode lost a statement of this server', server('42P05')],
    ['a pooler in transaction mode lost a statement of this server', server('26000')],
    ['the database lacks a function that this server needs', server('42883')],
    ['the database does not understand a statement of this server', server('42601')],
    ['the database or a pooler before it refuses how this server talks to it', server('08P01')],
    ['the database does not allow it', server('42501')],
    ['the database rejects the user or the password', server('28P01')],
    ['the store failed (22021)', server('22021')],
    ['the database cannot be reached', postgres('ERR_POSTGRES_CONNECTION_REFUSED')],
    ['the database cannot be reached', postgres('ERR_POSTGRES_CONNECTION_CLOSED')],
    ['the database does not answer', new StoreSilent('secret')],
    ['too many changes are waiting for the store', new StoreBusy('secret')],
    ['the store failed (SQLError)', new SQL.SQLError('secret')],
  ])('is described without any stored data: %s', (words, error) => {
    expect(plainFault(error)).toBe(words);
    expect(isStoreFault(error)).toBe(true);
  });

  it('is described by its message if it is not an error of a database', () => {
    expect(plainFault(new Error('the file was removed'))).toBe('the file was removed');
    expect(plainFault('the file was removed')).toBe('the file was removed');
    expect(isStoreFault(new Error('a bug'))).toBe(false);
  });

  it('is about a statement if the store itself works', () => {
    for (const error of [
      sqlite('SQLITE_CONSTRAINT_UNIQUE'),
      server('23505'),
      server('22021'),
      server('40P01'),
      new Error('thrown by the change'),
    ]) {
      expect(isStatementFault(error)).toBe(true);
    }
    for (const error of [
      sqlite('SQLITE_FULL'),
      sqlite('SQLITE_BUSY'),
      server('53100'),
      server('57P01'),
      postgres('ERR_POSTGRES_CONNECTION_CLOSED'),
      new StoreSilent('late'),
    ]) {
      expect(isStatementFault(error)).toBe(false);
    }
  });

  it('may pass by itself if the database cannot be reached, or does not let us in or write yet', () => {
    for (const error of [
      server('57P03'),
      server('53300'),
      server('28P01'),
      server('3D000'),
      server('25006'),
      server('42501'),
      postgres('ERR_POSTGRES_CONNECTION_REFUSED'),
      postgres('ERR_POSTGRES_TLS_NOT_AVAILABLE'),
      new StoreSilent('late'),
      Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' }),
    ]) {
      expect(isAway(error)).toBe(true);
    }
    for (const error of [
      server('42601'),
      sqlite('SQLITE_FULL'),
      Object.assign(new TypeError('sslmode'), { code: 'ERR_INVALID_ARG_VALUE' }),
      new Error('its encoding is LATIN1'),
    ]) {
      expect(isAway(error)).toBe(false);
    }
  });
});
