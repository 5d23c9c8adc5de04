import { connect } from 'node:net';
import { errorCode, messageOf } from '../../runtime/error-code.ts';
import { urlHost } from '../../runtime/listen-host.ts';
import type { ClientTls } from '../../runtime/tls/certificate.ts';
import { tlsRefusal } from '../../runtime/tls/certificate-refusal.ts';
import { sqlState } from './faults.ts';

/** How long a connection of our own may take. */
const PROBE_MS = 5_000;

/**
 * Says why PostgreSQL could not be connected to. Bun's client says the same of a name that is unknown and of a port that
 * nothing listens on, so we connect once more ourselves.
 */
export async function whyUnreached(url: string, tls: ClientTls, error: unknown): Promise<string> {
  const { host, port } = dialled(new URL(url));
  const at = `${urlHost(host)}:${port}`;
  const hasCertificate = tls.certificate !== undefined;
  const refusal = tlsRefusal(error, { at, settings: 'store.tls', hasCertificate });
  if (refusal !== undefined) return refusal;
  const words = refusedWords(error, at);
  if (words !== undefined) return words;
  if (errorCode(error) !== 'ERR_POSTGRES_CONNECTION_REFUSED') return messageOf(error);
  const code = await probe(host, port);
  return `${meanings.get(code)?.(host, at) ?? `no connection to ${at}`} (${code}). Check store.url`;
}

/** What PostgreSQL says, and the setting to change. Its codes are those of its Appendix A. */
function refusedWords(error: unknown, at: string): string | undefined {
  const code = String(errorCode(error));
  const message = messageOf(error);
  if (code === 'ERR_POSTGRES_TLS_NOT_AVAILABLE') {
    return `${at} does not offer TLS: turn it on there (ssl = on), or remove sslmode from store.url`;
  }
  if (code === 'ERR_POSTGRES_CONNECTION_TIMEOUT') {
    return `${message}: nothing at ${at} answers as PostgreSQL does. Check store.url`;
  }
  if (code === 'ERR_POSTGRES_UNEXPECTED_MESSAGE') {
    return `${message}: ${at} is not PostgreSQL. Check store.url`;
  }
  if (code === 'ERR_POSTGRES_CONNECTION_FAILED') {
    return `${message}: ${at} has ended it. Is that PostgreSQL? Check store.url`;
  }
  if (/valid client certificate/.test(message)) {
    return `${message}: set store.tls.certFile and store.tls.keyFile`;
  }
  const state = sqlState(error);
  const [, repair] = repairs.find(([start]) => state.startsWith(start)) ?? [];
  return repair === undefined ? undefined : `${message} (${state}). ${repair}`;
}

const repairs: readonly (readonly [string, string])[] = [
  ['28P01', 'Check the user and the password in store.url'],
  ['28', 'Check the user in store.url, its certificate (store.tls.certFile), and pg_hba.conf'],
  ['3D000', 'Create the database, or check its name in store.url'],
  ['53300', 'Raise max_connections there: a server uses up to 10'],
  ['57P03', 'It becomes usable by itself'],
  ['42501', 'GRANT the user of store.url what it lacks: it must own its tables'],
];

const meanings: ReadonlyMap<string, (host: string, at: string) => string> = new Map([
  ['ECONNREFUSED', (_, at) => `nothing listens at ${at}`],
  ['ENOTFOUND', (host) => `the name ${host} is unknown`],
  ['EAI_AGAIN', (host) => `the name ${host} cannot be looked up, because no name server answers`],
  ['EHOSTUNREACH', (_, at) => `there is no route to ${at}`],
  ['ENETUNREACH', (_, at) => `there is no route to ${at}`],
  ['ETIMEDOUT', (_, at) => `no answer from ${at}`],
]);

/** The address that Bun's client connects to. */
function dialled({ hostname, port, searchParams }: URL): {
  readonly host: string;
  readonly port: number;
} {
  const host = searchParams.get('hostname') ?? hostname.replace(/^\[|\]$/g, '');
  const given = searchParams.get('port') ?? port;
  return {
    host: host || process.env['PGHOST'] || 'localhost',
    port: Number(given || process.env['PGPORT'] || 5432),
  };
}

/** Connects, and returns the code of the error. */
function probe(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (code: string) => {
      socket.destroy();
      resolve(code);
    };
    socket.setTimeout(PROBE_MS, () => end('ETIMEDOUT'));
    socket.once('error', (error) => end(String(errorCode(error) ?? error.name)));
    socket.once('connect', () => end('it is reachable now'));
  });
}
