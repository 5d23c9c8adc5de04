import { expect, it } from 'bun:test';
import { NO_CLIENT_TLS } from '../../runtime/tls/certificate.ts';
import { whyUnreached } from './postgres-reach.ts';

const URL_WITH_TLS = 'postgres://u:p@db.example/x?sslmode=verify-full';

const failed = (message: string, code: string) => Object.assign(new Error(message), { code });

it('names what to trust if the authority of the certificate is unknown', async () => {
  const error = failed('self signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT');
  expect(await whyUnreached(URL_WITH_TLS, NO_CLIENT_TLS, error)).toBe(
    'the certificate of db.example:5432 is not accepted: self signed certificate. Its authority is not trusted here: set store.tls.caFile to the PEM file of the authority',
  );
});

it('names the server whose certificate is for another name', async () => {
  const error = failed("does not match certificate's altnames", 'ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await whyUnreached(`${URL_WITH_TLS}&hostname=other&port=77`, NO_CLIENT_TLS, error)).toBe(
    "the certificate of other:77 is not accepted: does not match certificate's altnames",
  );
});

it('names the address where something else than PostgreSQL answers, or nothing', async () => {
  const silent = failed('Connection timeout after 5s', 'ERR_POSTGRES_CONNECTION_TIMEOUT');
  expect(await whyUnreached(URL_WITH_TLS, NO_CLIENT_TLS, silent)).toBe(
    'Connection timeout after 5s: nothing at db.example:5432 answers as PostgreSQL does. Check store.url',
  );
  const other = failed('Failed to read data', 'ERR_POSTGRES_UNEXPECTED_MESSAGE');
  expect(await whyUnreached(URL_WITH_TLS, NO_CLIENT_TLS, other)).toBe(
    'Failed to read data: db.example:5432 is not PostgreSQL. Check store.url',
  );
});

it('leaves other errors as they are', async () => {
  const error = failed('Syntax error', 'ERR_POSTGRES_SYNTAX_ERROR');
  expect(await whyUnreached(URL_WITH_TLS, NO_CLIENT_TLS, error)).toBe('Syntax error');
});
