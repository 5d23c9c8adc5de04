import { ENCODING_RULE } from '../../../runtime/login-encoding.ts';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { type ClientTls, NO_CLIENT_TLS } from '../../../runtime/tls/certificate.ts';
import { parseRedisUrl, type RedisAddress, type RedisEndpoint } from './address.ts';
import { checkServer, clockWarnings } from './check-server.ts';
import { ClusterMap } from './cluster/cluster-map.ts';
import type { Slot } from './cluster/slots.ts';
import { RedisConnection, type RedisConnectionOwner } from './connection.ts';
import { type Login, logIn } from './log-in.ts';
import { openSocket } from './open-socket.ts';
import { type Party, startFailure } from './party.ts';
import { RedisError, RedisUrlInvalid, type Reply } from './reply.ts';
import { findPrimary } from './sentinels.ts';

/** What connections to servers and to sentinels use for TLS. */
export interface RedisTls {
  readonly servers: ClientTls;
  readonly sentinels: ClientTls;
}

export interface RedisConnectorOptions {
  /** See `parseRedisUrl`. */
  readonly url: string;
  /** The slot whose master is used; for the URL of a cluster. */
  readonly slot?: ClusterSlot | undefined;
  /** For the next connection: certificates are renewed while the server runs. */
  readonly tls?: () => RedisTls;
  /** For the next connection: `url` with another user and password. They are rotated while the server runs. */
  readonly latestUrl?: () => string;
  /** For the next connection to a sentinel: these have credentials of their own. */
  readonly sentinelLogin?: () => SentinelLogin;
  readonly log: Log;
  /** Must be monotonic. */
  readonly timers: Timers;
  /** The timeout of opening a connection, of each reply, and of waiting to send a command. */
  readonly deadlineMs?: number;
}

/** One slot of a cluster. */
export interface ClusterSlot extends Slot {
  readonly map: ClusterMap;
}

/** The credentials of the sentinels. */
export interface SentinelLogin {
  readonly user: string | undefined;
  readonly password: string | undefined;
}

/** What connections log in with. */
export interface RedisLogins {
  /** Of all Redis servers, with their addresses. */
  readonly urls: readonly string[];
  readonly sentinels: SentinelLogin;
}

export const DEADLINE_MS = 2_000;

/** How old a map of the cluster may be, so that the connections of all slots share one answer. */
const SHARED_MS = 100;

/** Opens connections to one server, to the primary that the sentinels name, or to the master of a slot. */
export class RedisConnector {
  private readonly options: RedisConnectorOptions;
  private readonly address: RedisAddress;
  private readonly warned = new Set<string>();

  constructor(options: RedisConnectorOptions) {
    const address = parseRedisUrl(options.url);
    if (address === undefined) {
      throw new RedisUrlInvalid(
        `the URL of Redis does not have the form redis://USER:PASSWORD@HOST:PORT/DB, rediss://…, redis+sentinel://HOST,HOST/NAME or redis+cluster://HOST,HOST; ${ENCODING_RULE}`,
      );
    }
    this.options = options;
    this.address = address;
  }

  get hasSentinels(): boolean {
    return this.address.sentinelName !== undefined;
  }

  get isCluster(): boolean {
    return this.address.isCluster;
  }

  /** All sentinels; without any, the server, or those of the cluster that the URL names. */
  get endpoints(): RedisAddress['endpoints'] {
    return this.address.endpoints;
  }

  /** The server, the first sentinel, or the first server of a cluster. */
  get firstEndpoint(): RedisEndpoint {
    return this.address.endpoints[0];
  }

  /** What the next connection to a server logs in with. */
  private get login(): Login {
    const { latestUrl, url } = this.options;
    const { user, password } = parseRedisUrl(latestUrl?.() ?? url) ?? this.address;
    return { user, password, db: this.address.db };
  }

  /** Makes a map of the cluster. */
  clusterMap(): ClusterMap {
    const { timers, log } = this.options;
    return new ClusterMap({
      endpoints: this.endpoints,
      timers,
      log,
      ask: (endpoint, command) => {
        const { login } = this;
        return this.ask(this.partyOf(endpoint, false, login), login, command);
      },
    });
  }

  /** The primary, as these sentinels name it, or the master of the slot. */
  async findPrimary(endpoints: readonly RedisEndpoint[] = this.endpoints): Promise<RedisEndpoint> {
    const { slot } = this.options;
    if (slot !== undefined) return await slot.map.masterOf(slot.number, SHARED_MS);
    const { sentinelName } = this.address;
    if (sentinelName === undefined) return this.firstEndpoint;
    const { user, password } = this.options.sentinelLogin?.() ?? {};
    const login = { user, password, db: 0 };
    return await findPrimary({
      endpoints,
      name: sentinelName,
      ask: (endpoint, command) => this.ask(this.partyOf(endpoint, true, login), login, command),
    });
  }

  /** Sends one command over a connection of its own. */
  private async ask(party: Party, login: Login, command: readonly string[]): Promise<Reply> {
    return await this.open({ party, login, owner: NOBODY }, async (connection) => {
      const reply = await connection.request(command);
      connection.end('asked');
      return reply;
    });
  }

  /** Connects to a server, and checks that it can be used. */
  async connect(endpoint: RedisEndpoint, owner: RedisConnectionOwner): Promise<RedisConnection> {
    const { login } = this;
    const line: Line = { party: this.partyOf(endpoint, false, login), login, owner };
    return await this.open(line, async (connection) => {
      const { isCluster } = this.address;
      const [info, time] = await Promise.all([
        connection.request(['INFO']),
        connection.request(['TIME']).catch((error: unknown) => {
          // Services with clusters may forbid it.
          if (isCluster && error instanceof RedisError) return null;
          throw error;
        }),
      ]);
      const { process, warnings } = checkServer(String(info), { isCluster });
      connection.process = process;
      this.warn([...warnings, ...clockWarnings(time, Date.now())], endpoint);
      return connection;
    });
  }

  /** Opens a connection, logs in and makes the first requests. Closes it if one of these fails. */
  private async open<T>(
    { party, login, owner }: Line,
    begin: (connection: RedisConnection) => Promise<T>,
  ): Promise<T> {
    const { timers, deadlineMs = DEADLINE_MS } = this.options;
    const socket = await openSocket(party, {
      tls: this.address.isSecure ? this.tlsOf(party) : undefined,
      timeoutMs: deadlineMs,
      timers,
    });
    const connection = new RedisConnection(socket, owner, { timers, deadlineMs });
    try {
      await logIn(connection, login);
      return await begin(connection);
    } catch (error) {
      const { fault, hasHeard } = connection;
      connection.end('not usable');
      throw startFailure(error, { party, fault, hasHeard });
    }
  }

  private partyOf(endpoint: RedisEndpoint, isSentinel: boolean, { password }: Login): Party {
    const { isSecure, isCluster } = this.address;
    const hasCertificate = this.tlsOf({ isSentinel }).certificate !== undefined;
    return {
      endpoint,
      isSentinel,
      isCluster,
      isSecure,
      hasCertificate,
      hasPassword: password !== undefined,
    };
  }

  private tlsOf({ isSentinel }: Pick<Party, 'isSentinel'>): ClientTls {
    const tls = this.options.tls?.();
    return (isSentinel ? tls?.sentinels : tls?.servers) ?? NO_CLIENT_TLS;
  }

  /** Logs each warning once. */
  private warn(warnings: readonly string[], { host, port }: RedisEndpoint): void {
    for (const warning of warnings) {
      if (this.warned.has(warning)) continue;
      this.warned.add(warning);
      this.options.log.warn(warning, { server: `${host}:${port}` });
    }
  }
}

/** What a connection is opened with. */
interface Line {
  readonly party: Party;
  readonly login: Login;
  readonly owner: RedisConnectionOwner;
}

const NOBODY: RedisConnectionOwner = { onEnd: () => undefined };
