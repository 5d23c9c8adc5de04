import { SQL } from 'bun';
import type { ClientTls } from '../../runtime/certificate.ts';
import { ENCODING_RULE, isReadableAddress } from '../../runtime/login-encoding.ts';
import { withoutTlsFiles } from '../../runtime/postgres-url.ts';
import type { Backend } from './backend.ts';
import { StoreSilent, StoreUnavailable } from './faults.ts';

/** Connections of one server, for concurrent commits and for reads. */
const CONNECTIONS = 10;
const COMMITS_AT_ONCE = 4;

/** Seconds to wait for a connection. */
const CONNECT_SECONDS = 5;

/** Milliseconds after which the database cancels a statement. */
const STATEMENT_TIMEOUT_MS = 10_000;

/** Milliseconds after which this side stops waiting for any answer. */
const ANSWER_TIMEOUT_MS = 15_000;

export interface PostgresOptions {
  readonly tls: ClientTls;
  readonly answerTimeoutMs?: number;
}

export async function openPostgres(
  url: string,
  { tls: tlsAtStart, answerTimeoutMs = ANSWER_TIMEOUT_MS }: PostgresOptions,
): Promise<Backend> {
  if (!/^postgres(?:ql)?:\/\//.test(url)) {
    throw new StoreUnavailable(
      'store.url: it must be sqlite:FILE or postgres://…, for example sqlite:data/fanfare.db',
    );
  }
  if (!isReadableAddress(url)) {
    throw new StoreUnavailable(`store.url: not a valid address; ${ENCODING_RULE}`);
  }
  let tls = tlsAtStart;
  const open = () => connect(url, { tls, answerTimeoutMs });
  let sql = open();
  const ask = async <T>(question: (asked: SQL) => Promise<T>): Promise<T> => {
    const asked = sql;
    try {
      return await inTime(question(asked), answerTimeoutMs);
    } catch (error) {
      if (error instanceof StoreSilent && sql === asked) {
        // If the other machine has failed, old connections would otherwise wait forever.
        sql = open();
        await asked.close({ timeout: 0 });
      }
      throw error;
    }
  };
  try {
    await ask(requireUnicode);
  } catch (error) {
    await sql.close({ timeout: 0 });
    throw error;
  }
  return {
    dialect: 'postgres',
    get read() {
      return sql;
    },
    begin: (work) => ask((asked) => asked.begin(work)),
    beginUnhurried: (work) =>
      sql.begin(async (transaction) => {
        await transaction`SET LOCAL statement_timeout = 0`;
        return await work(transaction);
      }),
    commitsAtOnce: COMMITS_AT_ONCE,
    async check() {
      // PostgreSQL checks its own files.
      await ask((asked) => asked`SELECT number FROM migrations LIMIT 1`);
    },
    async waitBriefly() {
      // Statements do not block the event loop.
    },
    async lost() {
      const rows: { found: string | null }[] = await ask(
        (asked) => asked`SELECT to_regclass('migrations')::text AS found`,
      );
      return rows[0]?.found ? undefined : 'the tables are missing from the database';
    },
    useTls(changed) {
      if (Bun.deepEquals(changed, tls)) return;
      tls = changed;
      const before = sql;
      sql = open();
      // Its statements and transactions still end. It must not reject: nobody waits for it.
      before.close({ timeout: ANSWER_TIMEOUT_MS / 1000 }).catch(() => undefined);
    },
    close: () => sql.close({ timeout: CONNECT_SECONDS }),
  };
}

/** Other encodings lack characters of texts of apps, users and devices. */
async function requireUnicode(sql: SQL): Promise<void> {
  const rows: { server_encoding: string }[] = await sql`SHOW server_encoding`;
  const encoding = rows[0]?.server_encoding;
  if (encoding === 'UTF8') return;
  throw new Error(`its encoding is ${encoding}, but must be UTF8`);
}

function connect(url: string, { tls, answerTimeoutMs }: Required<PostgresOptions>): SQL {
  const { ca, certificate } = tls;
  const files = { ...(ca === undefined ? {} : { ca }), ...certificate };
  return new SQL(withoutTlsFiles(url), {
    // With any such option, Bun uses TLS without being asked for it.
    ...(Object.keys(files).length === 0 ? {} : { tls: files }),
    max: CONNECTIONS,
    connectionTimeout: CONNECT_SECONDS,
    connection: {
      application_name: 'fanfare',
      statement_timeout: STATEMENT_TIMEOUT_MS,
      // If a machine has failed, its locks would block other servers until TCP notices, after hours.
      idle_in_transaction_session_timeout: answerTimeoutMs,
    },
  });
}

/** Rejects with `StoreSilent` after a timeout: an unreachable database may never answer. */
async function inTime<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new StoreSilent(`The database has not answered in ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
