import type { ClientTls } from '../../runtime/tls/certificate.ts';
import { shownStore } from './database.ts';
import { openPostgres } from './postgres.ts';
import { whyUnreached } from './postgres-reach.ts';
import type { Pooler } from './postgres-session.ts';

type Result =
  | { readonly result: 'ok'; readonly detail: string }
  | { readonly result: 'warning' | 'failed'; readonly detail: string; readonly advice: string };

/** The result of one check. */
export type StoreFinding = Result & {
  readonly name: 'store' | 'store-tls' | 'store-rights' | 'store-pooler';
};

export interface ExaminedStore {
  readonly url: string;
  readonly tls: ClientTls;
}

interface Facts {
  readonly version: string;
  readonly ssl: boolean;
  readonly protocol: string | null;
  readonly subject: string | null;
  readonly may_create: boolean;
  readonly pooler: Pooler | undefined;
}

/** Connects to PostgreSQL as a server does. Changes nothing there. */
export async function* examinePostgres({ url, tls }: ExaminedStore): AsyncGenerator<StoreFinding> {
  let facts: Facts;
  try {
    facts = await factsOf(url, tls);
  } catch (error) {
    const detail = `${shownStore(url)}: ${await whyUnreached(url, tls, error)}`;
    const advice = 'Change the setting, or the configuration of PostgreSQL, as described.';
    yield { name: 'store', result: 'failed', detail, advice };
    return;
  }
  yield { name: 'store', result: 'ok', detail: `PostgreSQL ${facts.version} answers` };
  yield { name: 'store-tls', ...judgeTls(facts, url) };
  yield { name: 'store-rights', ...judgeRights(facts) };
  yield { name: 'store-pooler', ...judgePooler(facts) };
}

async function factsOf(url: string, tls: ClientTls): Promise<Facts> {
  const backend = await openPostgres(url, { tls });
  try {
    const rows: Omit<Facts, 'pooler'>[] = await backend.read`
      SELECT current_setting('server_version') AS version, s.ssl, s.version AS protocol,
        s.client_dn AS subject, has_schema_privilege(current_schema(), 'CREATE') AS may_create
      FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()`;
    const [facts] = rows;
    if (facts === undefined) throw new Error('it does not show the state of its own connection');
    return { ...facts, pooler: backend.pooler };
  } finally {
    await backend.close();
  }
}

function judgeTls({ ssl, protocol, subject }: Facts, url: string): Result {
  if (!ssl) {
    return isHere(url)
      ? { result: 'ok', detail: 'the connection has no TLS, and stays on this machine' }
      : {
          result: 'warning',
          detail: 'the connection has no TLS',
          advice: 'Add ?sslmode=verify-full to store.url, unless the network is your own.',
        };
  }
  const certificate = subject === null ? 'without a certificate of this server' : `as ${subject}`;
  return { result: 'ok', detail: `${protocol ?? 'TLS'}, ${certificate}` };
}

function isHere(url: string): boolean {
  return /^(?:localhost|127\..*|\[::1\]|)$/.test(new URL(url).hostname);
}

function judgeRights({ may_create: mayCreate }: Facts): Result {
  if (!mayCreate) {
    return {
      result: 'failed',
      detail: 'the user may not create tables',
      advice: 'GRANT CREATE ON SCHEMA public TO the user, or make it the owner of the database.',
    };
  }
  return { result: 'ok', detail: 'the user may create tables' };
}

function judgePooler({ pooler }: Facts): Result {
  if (pooler === undefined) return { result: 'ok', detail: 'no pooler is in between' };
  const detail = `a pooler in ${pooler.mode} mode is in between`;
  if (pooler.limitsReads) return { result: 'ok', detail };
  return {
    result: 'warning',
    detail: `${detail}, and PostgreSQL does not limit the time of reads`,
    advice:
      'ALTER ROLE fanfare SET statement_timeout = 10000: the pooler does not pass on that setting.',
  };
}
