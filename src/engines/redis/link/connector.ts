import { ENCODING_RULE } from '../../../runtime/login-encoding.ts';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { type ClientTls, NO_CLIENT_TLS } from '../../../runtime/tls/certificate.ts';
import { parseRedisUrl, type RedisAddress, type RedisEndpoint } from './address.ts';
import { checkServer, clockWarnings } from './check-server.ts';
import { RedisConnection, type RedisConnectionOwner } from './connection.ts';
import { type Login, logIn } from './log-in.ts';
import { openSocket } from './open-socket.ts';
import { type Party, startFailure } from './party.ts';
import { RedisUrlInvalid } from './reply.ts';
import { findPrimary } from './sentinels.ts';

/** What connections to servers and to sentinels use for TLS. */
export interface RedisTls {
  readonly servers: ClientTls;
  readonly sentinels: ClientTls;
}

export interface RedisConnectorOptions {
  /** `redis://`, `rediss://`, `redis+sentinel://` or `rediss+sentinel://`; see `parseRedisUrl`. */
  readonly url: string;
  /** For the next connection: certificates are renewed while the server runs. */
  readonly tls?: () => RedisTls;
  /** For the sentinels, which have credentials of their own. */
  readonly sentinelLogin?: SentinelLogin | undefined;
  readonly log: Log;
  /** Must be monotonic. */
  readonly timers: Timers;
  /** The timeout of opening a connection, of each reply, and of waiting to send a command. */
  readonly deadlineMs?: number;
}

/** The credentials of the sentinels. */
export interface SentinelLogin {
  readonly user: string | undefined;
  readonly password: string | undefined;
}

export const DEADLINE_MS = 2_000;

/** Opens connections to one server, or to the primary that the sentinels name. */
export class RedisConnector {
  private readonly options: RedisConnectorOptions;
  private readonly address: RedisAddress;
  private readonly warned = new Set<string>();

  constructor(options: RedisConnectorOptions) {
    const address = parseRedisUrl(options.url);
    if (address === undefined) {
      throw new RedisUrlInvalid(
        `the URL of Redis does not have the form redis://USER:PASSWORD@HOST:PORT/DB, rediss://… or redis+sentinel://HOST,HOST/NAME; ${ENCODING_RULE}`,
      );
    }
    this.options = options;
    this.address = address;
  }

  get hasSentinels(): boolean {
    return this.address.sentinelName !== undefined;
  }

  /** All sentinels; without any, the server. */
  get endpoints(): RedisAddress['endpoints'] {
    return this.address.endpoints;
  }

  /** The server, or the first sentinel. */
  get firstEndpoint(): RedisEndpoint {
    return this.address.endpoints[0];
  }

  /** The primary, as these sentinels name it. */
  async findPrimary(endpoints: readonly RedisEndpoint[] = this.endpoints): Promise<RedisEndpoint> {
    const { sentinelName } = this.address;
    if (sentinelName === undefined) return this.firstEndpoint;
    const { user, password } = this.options.sentinelLogin ?? {};
    const login = { user, password, db: 0 };
    return await findPrimary({
      endpoints,
      name: sentinelName,
      ask: async (endpoint, command) => {
        const line: Line = { party: this.partyOf(endpoint, true, login), login, owner: NOBODY };
        return await this.open(line, async (connection) => {
          const reply = await connection.request(command);
          connection.end('asked');
          return reply;
        });
      },
    });
  }

  /** Connects to a server, and checks that it can be used. */
  async connect(endpoint: RedisEndpoint, owner: RedisConnectionOwner): Promise<RedisConnection> {
    const { user, password, db } = this.address;
    const login = { user, password, db };
    const line: Line = { party: this.partyOf(endpoint, false, login), login, owner };
    return await this.open(line, async (connection) => {
      const [info, time] = await Promise.all([
        connection.request(['INFO']),
        connection.request(['TIME']),
      ]);
      const { serverId, warnings } = checkServer(String(info));
      connection.serverId = serverId;
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
    const { isSecure } = this.address;
    const hasCertificate = this.tlsOf({ isSentinel }).certificate !== undefined;
    return {
      endpoint,
      isSentinel,
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
