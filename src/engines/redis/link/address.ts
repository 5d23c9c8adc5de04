/** A host and a port. */
export interface RedisEndpoint {
  readonly host: string;
  readonly port: number;
}

/** The address of a Redis server or a Redis Cluster, and the credentials. */
export interface RedisAddress {
  /** The server, the sentinels that know its address, or some servers of the cluster. */
  readonly endpoints: readonly [RedisEndpoint, ...RedisEndpoint[]];
  /** The name of the primary at the sentinels; `undefined`: there are none. */
  readonly sentinelName: string | undefined;
  readonly isCluster: boolean;
  readonly isSecure: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
}

const SERVER_PORT = 6379;
const SENTINEL_PORT = 26379;

const SHAPE =
  /^(?<scheme>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<login>[^@/]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[^?#]*))?$/;
const HOST = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[^:[\]]+))(?::(?<port>\d{1,5}))?$/i;

/**
 * Reads `redis://user:password@host:port/db`, `redis+sentinel://host:port,host:port/name/db` or
 * `redis+cluster://host:port,host:port`; with TLS, these begin with `rediss`. Returns `undefined` for any other text.
 */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const parts = SHAPE.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const isSentinel = parts['kind'] === 'sentinel';
  const isCluster = parts['kind'] === 'cluster';
  const hosts = (parts['hosts'] ?? '').split(',');
  const [first, ...others] = hosts.map((host) => parseEndpoint(host, isSentinel));
  const path = (parts['path'] ?? '').split('/');
  const sentinelName = isSentinel ? decoded(path.shift()) : undefined;
  const [db = '', ...rest] = path;
  const login = parseLogin(parts['login']);
  if (first === undefined || !others.every((endpoint) => endpoint !== undefined)) return undefined;
  if (login === undefined) return undefined;
  if (rest.length > 0 || !/^\d{0,4}$/.test(db)) return undefined;
  if (isSentinel && !sentinelName) return undefined;
  if (!isSentinel && !isCluster && others.length > 0) return undefined;
  // A cluster has one database.
  if (isCluster && db !== '') return undefined;
  const isSecure = parts['scheme'] === 'rediss';
  const endpoints = [first, ...others] as const;
  return { endpoints, sentinelName, isCluster, isSecure, ...login, db: Number(db) };
}

/** The address without user and password, for display and comparison: `host:port,host:port/name/db`. */
export function serverName(url: string): string {
  const address = parseRedisUrl(url);
  if (address === undefined) return 'a URL that cannot be read';
  const { endpoints, sentinelName, db } = address;
  const hosts = endpoints.map(({ host, port }) => `${host.toLowerCase()}:${port}`).join(',');
  return [hosts, sentinelName, db === 0 ? undefined : db]
    .filter((part) => part !== undefined)
    .join('/');
}

function parseEndpoint(text: string, isSentinel: boolean): RedisEndpoint | undefined {
  const parts = HOST.exec(text)?.groups;
  const host = parts?.['v6'] ?? parts?.['name'];
  const port = Number(parts?.['port'] ?? (isSentinel ? SENTINEL_PORT : SERVER_PORT));
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

function parseLogin(text: string | undefined): Pick<RedisAddress, 'user' | 'password'> | undefined {
  if (text === undefined) return { user: undefined, password: undefined };
  const colon = text.indexOf(':');
  const user = decoded(colon === -1 ? text : text.slice(0, colon));
  const password = colon === -1 ? '' : decoded(text.slice(colon + 1));
  if (user === undefined || password === undefined) return undefined;
  return { user: user || undefined, password: password || undefined };
}

/** Decodes percent-encoding; `undefined` if it is invalid. */
function decoded(text = ''): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
