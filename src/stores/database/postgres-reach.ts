import { connect } from 'node:net';
import { certificateRefusal } from '../../runtime/certificate-refusal.ts';
import { errorCode, messageOf } from '../../runtime/error-code.ts';
import { urlHost } from '../../runtime/listen-host.ts';

/** How long a connection of our own may take. */
const PROBE_MS = 5_000;

/**
 * Says why PostgreSQL could not be connected to. Bun's client says the same of a name that is unknown and of a port that
 * nothing listens on, so we connect once more ourselves.
 */
export async function whyUnreached(url: string, error: unknown): Promise<string> {
  const { host, port } = dialled(new URL(url));
  const at = `${urlHost(host)}:${port}`;
  const refusal = certificateRefusal(error, at);
  if (refusal !== undefined) return `${refusal}. Check store.url`;
  if (errorCode(error) !== 'ERR_POSTGRES_CONNECTION_REFUSED') return messageOf(error);
  const code = await probe(host, port);
  return `${meanings.get(code)?.(host, at) ?? `no connection to ${at}`} (${code}). Check store.url`;
}

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
