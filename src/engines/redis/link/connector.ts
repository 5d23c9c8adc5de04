import { ENCODING_RULE } from '../../../runtime/login-encoding.ts';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { type Endpoint, parseRedisUrl, type RedisAddress } from './address.ts';
import { checkServer, clockWarnings } from './check-server.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { type Login, logIn, loginFailure } from './log-in.ts';
import { openSocket, type TlsOptions } from './open-socket.ts';
import { RedisRefused } from './reply.ts';
import { findPrimary } from './sentinels.ts';

export interface ConnectorOptions {
  /** `redis://`, `rediss://`, `redis+sentinel://` or `rediss+sentinel://`; see `parseRedisUrl`. */
  readonly url: string;
  readonly tls?: TlsOptions | undefined;
  /** Override those in the URL. */
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** For the sentinels, which have credentials of their own. */
  readonly sentinelUser?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  readonly log: Log;
  /** Must be monotonic. */
  readonly timers: Timers;
  /** The timeout of opening a connection, of each reply, and of waiting to send a command. */
  readonly deadlineMs?: number;
}

export const DEADLINE_MS = 2_000;

/** Opens connections to one server, or to the primary that the sentinels name. */
export class Connector {
  private readonly options: ConnectorOptions;
  private readonly address: RedisAddress;
  private readonly warned = new Set<string>();

  constructor(options: ConnectorOptions) {
    const address = parseRedisUrl(options.url);
    if (address === undefined) {
      throw new RedisRefused(
        `the URL of Redis does not have the form redis://USER:PASSWORD@HOST:PORT/DB, rediss://… or redis+sentinel://HOST,HOST/NAME; ${ENCODING_RULE}`,
      );
    }
    this.options = options;
    this.address = address;
  }

  get hasSentinels(): boolean {
    return this.address.sentinelName !== undefined;
  }

  /** The server, or the first sentinel. */
  get firstEndpoint(): Endpoint {
    return this.address.endpoints[0];
  }

  async findPrimary(): Promise<Endpoint> {
    const { endpoints, sentinelName } = this.address;
    if (sentinelName === undefined) return this.firstEndpoint;
    const { sentinelUser: user, sentinelPassword: password } = this.options;
    return await findPrimary({
      endpoints,
      name: sentinelName,
      connect: (endpoint) => this.open(endpoint, NOBODY, { user, password, db: 0 }),
    });
  }

  /** Connects to a server, and checks that it can be used. */
  async connect(endpoint: Endpoint, owner: ConnectionOwner): Promise<Connection> {
    const { user = this.address.user, password = this.address.password } = this.options;
    const connection = await this.open(endpoint, owner, { user, password, db: this.address.db });
    try {
      const [info, time] = await Promise.all([
        connection.request(['INFO']),
        connection.request(['TIME']),
      ]);
      const { serverId, warnings } = checkServer(String(info));
      connection.serverId = serverId;
      this.warn([...warnings, ...clockWarnings(time, Date.now())], endpoint);
      return connection;
    } catch (error) {
      connection.end('not usable');
      throw loginFailure(error);
    }
  }

  private async open(
    endpoint: Endpoint,
    owner: ConnectionOwner,
    login: Login,
  ): Promise<Connection> {
    const { timers, tls = {}, deadlineMs = DEADLINE_MS } = this.options;
    const socket = await openSocket(endpoint, {
      tls: this.address.isSecure ? tls : undefined,
      timeoutMs: deadlineMs,
      timers,
    });
    const connection = new Connection(socket, owner, { timers, deadlineMs });
    await logIn(connection, login);
    return connection;
  }

  /** Logs each warning once. */
  private warn(warnings: readonly string[], { host, port }: Endpoint): void {
    for (const warning of warnings) {
      if (this.warned.has(warning)) continue;
      this.warned.add(warning);
      this.options.log.warn(warning, { server: `${host}:${port}` });
    }
  }
}

const NOBODY: ConnectionOwner = { onEnd: () => undefined };
