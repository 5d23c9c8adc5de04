import { parameterOf } from '../../runtime/postgres-url.ts';
import type { Config } from '../schema.ts';

/** A file, and the setting that names it. */
export interface NamedFile {
  readonly setting: string;
  readonly file: string;
}

/** The files of TLS to another server. `cert` and `key` are set together. */
export interface ClientTlsFiles {
  readonly ca: NamedFile | undefined;
  readonly cert: NamedFile | undefined;
  readonly key: NamedFile | undefined;
}

const NONE: ClientTlsFiles = { ca: undefined, cert: undefined, key: undefined };

type ClientTlsSettings = Config['store']['tls'];

function filesOf(group: string, { caFile, certFile, keyFile }: ClientTlsSettings): ClientTlsFiles {
  const named = (name: string, file: string | null) =>
    file === null ? undefined : { setting: `${group}.${name}`, file };
  return {
    ca: named('caFile', caFile),
    cert: named('certFile', certFile),
    key: named('keyFile', keyFile),
  };
}

/** The files for Redis, and for the sentinels, which use the same unless they have their own. */
export function redisTlsFiles({ engine }: Config): {
  readonly servers: ClientTlsFiles;
  readonly sentinels: ClientTlsFiles;
} {
  if (engine.type !== 'redis') return { servers: NONE, sentinels: NONE };
  const servers = filesOf('engine.tls', engine.tls);
  const { ca, cert, key } = filesOf('engine.sentinels.tls', engine.sentinels.tls);
  const pair = cert === undefined ? { cert: servers.cert, key: servers.key } : { cert, key };
  return { servers, sentinels: { ca: ca ?? servers.ca, ...pair } };
}

/** The files for PostgreSQL, of the settings or of the parameters of its address. */
export function storeTlsFiles({ store }: Pick<Config, 'store'>): ClientTlsFiles {
  if (!store.url.startsWith('postgres')) return NONE;
  const own = filesOf('store.tls', store.tls);
  const inUrl = urlTlsFiles('store.url', store.url);
  return { ca: own.ca ?? inUrl.ca, cert: own.cert ?? inUrl.cert, key: own.key ?? inUrl.key };
}

/** The files in the parameters of a postgres:// address. `setting` holds the address. */
export function urlTlsFiles(setting: string, url: string): ClientTlsFiles {
  const named = (name: 'sslrootcert' | 'sslcert' | 'sslkey') => {
    const file = parameterOf(url, name);
    // A word of libpq for the authorities of the system.
    if (file === undefined || file === 'system') return undefined;
    return { setting: `${setting}: ${name}`, file };
  };
  return { ca: named('sslrootcert'), cert: named('sslcert'), key: named('sslkey') };
}
