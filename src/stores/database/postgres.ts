import { SQL } from 'bun';
import { ENCODING_RULE, isReadableAddress } from '../../runtime/login-encoding.ts';
import { withoutTlsFiles } from '../../runtime/postgres-url.ts';
import type { ClientTls } from '../../runtime/tls/certificate.ts';
import type { DatabaseBackend } from './backend.ts';
import { StoreSilent, StoreUnavailable, sqlState } from './faults.ts';
import {
  DIRECT,
  type ExaminedSession,
  examine,
  FORGETS_STATEMENTS,
  inTime,
  refusesSettings,
  type SessionManner,
  type TimeLimit,
} from './postgres-session.ts';
import type { Begin } from './write-queue.ts';

/** Connections of one server, for concurrent commits and for reads. */
const CONNECTIONS = 10;
const COMMITS_AT_ONCE = 4;

/** Seconds to wait for a connection. */
const CONNECT_SECONDS = 5;

/** Changes lock the rows that they read. A role may have another default, in which they would conflict instead. */
const ISOLATION = 'ISOLATION LEVEL READ COMMITTED';

/** Milliseconds after which the database cancels a statement. */
const STATEMENT_TIMEOUT_MS = 10_000;

/** Milliseconds after which this side stops waiting for any answer. */
const ANSWER_TIMEOUT_MS = 15_000;

export interface PostgresOptions {
  readonly tls: ClientTls;
  readonly answerTimeoutMs?: number;
}

export async function openPostgres(
  urlAtStart: string,
  { tls: tlsAtStart, answerTimeoutMs = ANSWER_TIMEOUT_MS }: PostgresOptions,
): Promise<DatabaseBackend> {
  if (!/^postgres(?:ql)?:\/\//.test(urlAtStart)) {
    throw new StoreUnavailable(
      'store.url: it must be sqlite:FILE or postgres://…, for example sqlite:data/fanfare.db',
    );
  }
  if (!isReadableAddress(urlAtStart)) {
    throw new StoreUnavailable(`store.url: not a valid address; ${ENCODING_RULE}`);
  }
  let [url, tls] = [urlAtStart, tlsAtStart];
  const limit = {
    timeoutMs: answerTimeoutMs,
    otherwise: `The database has not answered in ${answerTimeoutMs} ms`,
  };
  const open = (manner: SessionManner) => connect(url, { manner, tls, answerTimeoutMs });
  const first = await openExamined(open, limit);
  const { pooler } = first;
  let { manner, sql } = first;
  const ask = async <T>(question: (asked: SQL) => Promise<T>): Promise<T> => {
    const asked = sql;
    try {
      return await inTime(question(asked), limit);
    } catch (error) {
      // A pooler was put between, or gives each transaction another connection now.
      const hasForgotten = FORGETS_STATEMENTS.includes(sqlState(error)) && manner.namesStatements;
      if ((error instanceof StoreSilent || hasForgotten) && sql === asked) {
        if (hasForgotten) manner = { ...manner, namesStatements: false };
        // If the other machine has failed, old connections would otherwise wait forever.
        sql = open(manner);
        await asked.close({ timeout: 0 });
      }
      throw error;
    }
  };
  /** Begins a transaction with our settings, whatever those of the role and the database are. */
  const begin =
    (asked: SQL): Begin =>
    (work) =>
      asked.begin(ISOLATION, async (transaction) => {
        if (!manner.sendsSettings)
          await transaction.unsafe(setLocally(settingsOf(answerTimeoutMs)));
        return await work(transaction);
      });
  /** Opens the next connections in another way. */
  const reopen = () => {
    const before = sql;
    sql = open(manner);
    // Its statements and transactions still end. It must not reject: nobody waits for it.
    before.close({ timeout: ANSWER_TIMEOUT_MS / 1000 }).catch(() => undefined);
  };
  return {
    dialect: 'postgres',
    pooler,
    diskNote: '',
    get read() {
      return sql;
    },
    begin: (work) => ask((asked) => begin(asked)(work)),
    beginUnhurried: (work) =>
      begin(sql)(async (transaction) => {
        // The last one is new in PostgreSQL 17.
        await transaction.unsafe(`SELECT set_config(name, '0', true) FROM pg_settings
          WHERE name IN ('statement_timeout', 'transaction_timeout')`);
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
    identity: () => ask(identityOf),
    useTls(changed) {
      if (Bun.deepEquals(changed, tls)) return;
      tls = changed;
      reopen();
    },
    useUrl(changed) {
      if (changed === url || !isReadableAddress(changed)) return;
      url = changed;
      reopen();
    },
    close: () => sql.close({ timeout: CONNECT_SECONDS }),
  };
}

/** Opens connections in the manner that works, after what is at the other end was examined. */
async function openExamined(
  open: (manner: SessionManner) => SQL,
  limit: TimeLimit,
): Promise<ExaminedSession & { readonly sql: SQL }> {
  for (let manner = DIRECT; ; ) {
    const sql = open(manner);
    try {
      const asked = examine(sql, { manner, settings: settingsOf(limit.timeoutMs) });
      const found = await inTime(asked, limit);
      if (Bun.deepEquals(found.manner, manner)) return { ...found, sql };
      await sql.close({ timeout: 0 });
      return { ...found, sql: open(found.manner) };
    } catch (error) {
      await sql.close({ timeout: 0 });
      if (!manner.sendsSettings || !refusesSettings(error)) throw error;
      manner = { ...manner, sendsSettings: false };
    }
  }
}

/** The identity of the cluster, its database and our tables: a copy by pg_dump has the contents, but another identity. */
async function identityOf(sql: SQL): Promise<string | undefined> {
  const rows: { identity: string | null }[] = await sql`
    SELECT (SELECT system_identifier FROM pg_control_system()) || ' ' || oid || ' '
      || to_regclass('migrations')::oid AS identity
    FROM pg_database WHERE datname = current_database()`;
  return rows[0]?.identity ?? undefined;
}

/** What our statements rely on. Times are milliseconds. */
function settingsOf(answerTimeoutMs: number): Readonly<Record<string, number>> {
  return {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // If a machine has failed, its locks would block other servers until TCP notices, after hours.
    idle_in_transaction_session_timeout: answerTimeoutMs,
    // The time limit of statements includes the wait for locks.
    lock_timeout: 0,
  };
}

/** Statements that make settings for the rest of a transaction. */
function setLocally(settings: Readonly<Record<string, number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `SET LOCAL ${name} = ${value};`)
    .join(' ');
}

interface ConnectOptions extends Required<PostgresOptions> {
  readonly manner: SessionManner;
}

function connect(url: string, { manner, tls, answerTimeoutMs }: ConnectOptions): SQL {
  const { ca, certificate } = tls;
  const files = { ...(ca === undefined ? {} : { ca }), ...certificate };
  return new SQL(withoutTlsFiles(url), {
    // With any such option, Bun uses TLS without being asked for it.
    ...(Object.keys(files).length === 0 ? {} : { tls: files }),
    max: CONNECTIONS,
    connectionTimeout: CONNECT_SECONDS,
    prepare: manner.namesStatements,
    connection: {
      application_name: 'fanfare',
      ...(manner.sendsSettings && settingsOf(answerTimeoutMs)),
    },
  });
}
