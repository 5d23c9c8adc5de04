import type { App } from '../../channels/app.ts';
import { type Grant, nameOf } from '../../channels/grants/grant.ts';
import { parseSocketId } from '../../channels/socket-id.ts';
import type { UserSessions } from '../../channels/users/user-sessions.ts';
import type { Clock } from '../../runtime/ports.ts';
import { Recent } from '../../runtime/recent.ts';
import { addressOf, type PackedAddress, packAddress } from './addresses/packed-address.ts';
import type { ClientLibraries, ClientLibrary } from './client-libraries.ts';
import { endWith } from './closing/end.ts';
import type { ClientConnection } from './connection.ts';
import type { ClientConnections } from './connections.ts';

/** The limit of connections examined in one turn of the loop. */
const LOOKED_MAX = 2_000;

/** The limit of unfinished walks. Beyond it, the oldest is dropped. */
const WALKS_MAX = 16;

/** The limit of channels in the answer about one connection. */
const CHANNELS_MAX = 1_000;

/** Which connections to find. */
export interface ConnectionQuery {
  /** The signed-in user. If a presence channel is given, connections of that member match, too. */
  readonly user?: string | undefined;
  readonly channel?: string | undefined;
  readonly address?: string | undefined;
  /** `next` of a page, to continue. */
  readonly after?: number | undefined;
  readonly limit: number;
}

/** One open connection, for an operator. */
export interface InspectedConnection {
  readonly socketId: string;
  readonly user: string | undefined;
  readonly address: string;
  readonly transport: string;
  readonly library: ClientLibrary | undefined;
  readonly openedAtMs: number;
  /** When the client last sent anything. */
  readonly heardAtMs: number;
  /** Bytes that the client has not taken yet. */
  readonly waitingBytes: number;
  readonly channels: number;
}

export interface InspectedDetails extends InspectedConnection {
  /** The first thousand. */
  readonly channelNames: readonly string[];
  /** Users on its watchlist. */
  readonly watching: number;
  readonly grants: readonly InspectedGrant[];
}

/** One of the grants that a connection keeps. */
export interface InspectedGrant {
  readonly by: 'sign-in' | 'token' | 'setting';
  readonly patterns: readonly string[];
  /** Milliseconds since 1970; `null`: it lasts as long as the connection. */
  readonly endsAtMs: number | null;
}

/** Some of the connections. `next` continues; `undefined` at the end. */
export interface ConnectionPage {
  readonly connections: readonly InspectedConnection[];
  readonly next: number | undefined;
}

export interface InspectorOptions {
  readonly connections: ClientConnections;
  readonly sessions: UserSessions;
  readonly libraries: ClientLibraries;
  readonly clock: Clock;
  readonly monotonic: Clock;
}

/** Shows the connections of this loop to an operator, some in each turn. */
export class Inspector {
  private readonly options: InspectorOptions;
  /** The positions of unfinished walks. Oldest first. */
  private readonly walks = new Recent<number, Iterator<ClientConnection>>(WALKS_MAX);
  private lastWalk = 0;

  constructor(options: InspectorOptions) {
    this.options = options;
  }

  /**
   * Finds up to `limit` connections of an app; fewer if finding more would take too long. `undefined`: the walk to
   * continue no longer exists.
   */
  find(app: App, query: ConnectionQuery): ConnectionPage | undefined {
    const fits = this.filter(app, query);
    const { user, after, limit } = query;
    if (user !== undefined && !query.channel?.startsWith('presence-')) {
      const found = this.ofUser(app, user).filter(fits).slice(0, limit);
      return { connections: found.map((one) => this.show(one)), next: undefined };
    }
    const walk =
      after === undefined
        ? this.options.connections.all()[Symbol.iterator]()
        : this.walks.take(after);
    if (walk === undefined) return undefined;
    const connections: InspectedConnection[] = [];
    for (let looked = 0; looked < LOOKED_MAX && connections.length < limit; looked++) {
      const { done, value } = walk.next();
      if (done === true) return { connections, next: undefined };
      if (fits(value)) connections.push(this.show(value));
    }
    return { connections, next: this.keep(walk) };
  }

  details(app: App, socketId: string): InspectedDetails | undefined {
    const connection = this.connection(app, socketId);
    if (connection === undefined) return undefined;
    const subscriptions = connection.subscriptions().slice(0, CHANNELS_MAX);
    return {
      ...this.show(connection),
      channelNames: subscriptions.map(({ channel }) => channel.text),
      watching: connection.watching.length,
      grants: connection.grants?.all.map(showGrant) ?? [],
    };
  }

  /** Closes a connection; `false` if it does not exist. */
  end(app: App, socketId: string): boolean {
    const connection = this.connection(app, socketId);
    if (connection === undefined) return false;
    endWith(connection, 'terminated');
    return true;
  }

  private ofUser(app: App, user: string): readonly ClientConnection[] {
    return this.options.sessions
      .of(app, user)
      .flatMap(({ socketId }) => this.options.connections.get(socketId) ?? []);
  }

  private connection(app: App, socketId: string): ClientConnection | undefined {
    const id = parseSocketId(socketId);
    const found = id === undefined ? undefined : this.options.connections.get(id);
    return found?.app === app ? found : undefined;
  }

  private filter(app: App, { user, channel, address }: ConnectionQuery) {
    const packed: PackedAddress | undefined =
      address === undefined ? address : packAddress(address);
    return (one: ClientConnection): boolean =>
      one.app === app &&
      (packed === undefined || one.address === packed) &&
      (channel === undefined || one.subscription(channel)?.state === 'joined') &&
      (user === undefined || isUser(one, user, channel));
  }

  private keep(walk: Iterator<ClientConnection>): number {
    this.lastWalk++;
    this.walks.set(this.lastWalk, walk);
    return this.lastWalk;
  }

  private show(connection: ClientConnection): InspectedConnection {
    const { clock, monotonic, libraries } = this.options;
    const offsetMs = clock.now() - monotonic.now();
    return {
      socketId: connection.socketId,
      user: connection.signingIn ? undefined : connection.user?.id,
      address: addressOf(connection.address),
      transport: connection.transport,
      library: libraries.of(connection.library),
      openedAtMs: Math.round(offsetMs + connection.openedAtMs),
      heardAtMs: Math.round(offsetMs + connection.heardAtMs),
      waitingBytes: connection.waitingBytes(),
      channels: connection.subscriptionCount,
    };
  }
}

/** Whether a connection is signed in as a user, or is that member of the channel. */
function isUser(one: ClientConnection, user: string, channel: string | undefined): boolean {
  if (!one.signingIn && one.user?.id === user) return true;
  return channel !== undefined && one.subscription(channel)?.member?.userId === user;
}

function showGrant({ by, patterns, endsAtMs }: Grant): InspectedGrant {
  return {
    by,
    patterns: patterns.map(nameOf),
    endsAtMs: Number.isFinite(endsAtMs) ? Math.round(endsAtMs) : null,
  };
}
