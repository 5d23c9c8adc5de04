import { type ReservedSQL, SQL } from 'bun';
import { messageOf } from '../../runtime/error-code.ts';
import { withTimeout } from '../../runtime/system-timers.ts';
import { StoreSilent, sqlState } from './faults.ts';

/** How this server talks to a PostgreSQL. */
export interface SessionManner {
  /** Whether our settings go along when a connection is opened. Poolers refuse or ignore them. */
  readonly sendsSettings: boolean;
  /** Whether statements get names, by which PostgreSQL plans them once for each connection. */
  readonly namesStatements: boolean;
}

/** The manner without a pooler. */
export const DIRECT: SessionManner = { sendsSettings: true, namesStatements: true };

/** The pooler in front of PostgreSQL. */
export interface Pooler {
  /** Whether it gives a connection of ours one of its own for as long, or only for each transaction. */
  readonly mode: 'session' | 'transaction';
  /** Whether PostgreSQL itself ends a read that takes too long. */
  readonly limitsReads: boolean;
}

export interface ExaminedSession {
  readonly manner: SessionManner;
  readonly pooler: Pooler | undefined;
}

/** What PostgreSQL answers to the name of a statement that it does not know, or knows already. */
export const FORGETS_STATEMENTS = ['26000', '42P05'];

/** What PostgreSQL, or a pooler, answers to settings that it does not take from us. */
const REFUSES_SETTINGS = ['08P01', '0A000', '42704'];

/** Whether an error means that settings may not be sent when a connection is opened. */
export function refusesSettings(error: unknown): boolean {
  return REFUSES_SETTINGS.includes(sqlState(error)) && /parameter|option/i.test(messageOf(error));
}

interface Facts {
  readonly encoding: string;
  readonly standby: boolean;
  readonly read_only: string;
  readonly schema: string | null;
  readonly search_path: string;
  /** The values of the session's settings that we set, as text. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface ExamineSessionOptions {
  readonly manner: SessionManner;
  /** What is sent when a connection is opened, if the manner is so. */
  readonly settings: Readonly<Record<string, number>>;
}

/**
 * Finds out what is at the other end. Throws if the store cannot be kept there. All statements are without a name and
 * parameters, because they must work through any pooler.
 */
export async function examine(
  sql: SQL,
  { manner, settings }: ExamineSessionOptions,
): Promise<ExaminedSession> {
  const names = Object.keys(settings).map((name) => `'${name}'`);
  const rows: Facts[] = await sql.unsafe(`
    SELECT current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby,
      current_setting('default_transaction_read_only') AS read_only, current_schema()::text AS schema,
      current_setting('search_path') AS search_path,
      (SELECT json_object_agg(name, setting) FROM pg_settings WHERE name IN (${names})) AS settings`);
  const [facts] = rows;
  if (facts === undefined) throw new Error('it answers nothing');
  refuseUnfit(facts);
  const isPooled = await isPooledByTransaction(sql);
  const haveArrived = Object.entries(settings).every(
    ([name, value]) => Number(facts.settings[name]) === value,
  );
  const sendsSettings = manner.sendsSettings && haveArrived;
  const limitsReads = Number(facts.settings['statement_timeout']) > 0;
  return {
    manner: { sendsSettings, namesStatements: manner.namesStatements && !isPooled },
    pooler:
      sendsSettings && !isPooled
        ? undefined
        : { mode: isPooled ? 'transaction' : 'session', limitsReads },
  };
}

function refuseUnfit({ encoding, standby, read_only, schema, search_path }: Facts): void {
  // Other encodings lack characters of texts of apps, users and devices.
  if (encoding !== 'UTF8') throw new Error(`its encoding is ${encoding}, but must be UTF8`);
  if (standby) throw readOnly('it is a standby, which cannot be written to: name the primary');
  if (read_only === 'on') {
    throw readOnly('the role or the database sets default_transaction_read_only = on');
  }
  if (schema === null) {
    throw new Error(
      `no schema of its search_path exists (${search_path}), so tables have no place`,
    );
  }
}

/** As PostgreSQL says it of a write, which may be allowed later. */
function readOnly(why: string): Error {
  const code = 'ERR_POSTGRES_SERVER_ERROR';
  return new SQL.PostgresError(why, { code, errno: '25006', detail: '', hint: '', severity: '' });
}

/** How long a second connection may take until its first answer. Milliseconds. */
const SECOND_MS = 5_000;

const NO_SECOND =
  'a second connection gets no answer. A pooler in session mode needs at least 10 connections to PostgreSQL for each server';

/**
 * Whether a pooler gives each transaction another connection, so that two of ours meet in one of its own, or one of ours
 * is in two of its own. The order matters: a pooler may hand out the connection that was used last, or each in turn.
 */
async function isPooledByTransaction(sql: SQL): Promise<boolean> {
  const one = await sql.reserve();
  try {
    const other = await sql.reserve().catch(() => undefined);
    try {
      const seen = new Map<ReservedSQL, number>();
      for (const asked of [one, one, other, other, one, other]) {
        if (asked === undefined) continue;
        const pid = await (asked === other
          ? inTime(pidOf(asked), { timeoutMs: SECOND_MS, otherwise: NO_SECOND })
          : pidOf(asked));
        const before = seen.get(asked);
        const isShared = [...seen].some(([holder, held]) => holder !== asked && held === pid);
        if (isShared || (before !== undefined && before !== pid)) return true;
        seen.set(asked, pid);
      }
      return false;
    } finally {
      other?.release();
    }
  } finally {
    one.release();
  }
}

async function pidOf(sql: SQL): Promise<number> {
  const rows: { pid: number }[] = await sql.unsafe('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}

/** How long to wait for an answer. */
export interface TimeLimit {
  readonly timeoutMs: number;
  /** What the error says then. */
  readonly otherwise: string;
}

/** Rejects with `StoreSilent` after a timeout: an unreachable database may never answer. */
export function inTime<T>(promise: Promise<T>, { timeoutMs, otherwise }: TimeLimit): Promise<T> {
  return withTimeout(timeoutMs, promise, () => {
    throw new StoreSilent(otherwise);
  });
}
