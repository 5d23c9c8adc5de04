/** One open connection. */
export interface ListedConnection {
  readonly socketId: string;
  readonly user: string | undefined;
  readonly address: string;
  readonly transport: string;
  /** The client's description of itself. */
  readonly library:
    | { readonly name: string; readonly version: string; readonly protocol: string }
    | undefined;
  readonly openedAtMs: number;
  /** When the client last sent anything. */
  readonly heardAtMs: number;
  /** Bytes that the client has not taken yet. */
  readonly waitingBytes: number;
  readonly channels: number;
}

export interface ConnectionDetails extends ListedConnection {
  /** The first thousand. */
  readonly channelNames: readonly string[];
  /** Users on its watchlist. */
  readonly watching: number;
  /** Servers of 0.1.0 have none. */
  readonly grants?: readonly ListedGrant[] | undefined;
}

/** One of the grants that a connection keeps. */
export interface ListedGrant {
  readonly by: 'sign-in' | 'token' | 'setting';
  readonly patterns: readonly string[];
  /** Milliseconds since 1970; `null`: it lasts as long as the connection. */
  readonly endsAtMs: number | null;
}

export interface ConnectionFilter {
  readonly appId: string;
  readonly user?: string | undefined;
  readonly channel?: string | undefined;
  readonly address?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A part of one server's connections. `next` is where the list continues; `undefined` at the end. */
export interface ConnectionsOfServer {
  readonly connections: readonly ListedConnection[];
  readonly next?: string | undefined;
}

/** Some of the connections of one loop. `next` continues the walk; `undefined` at the end. */
export interface ConnectionsOfLoop {
  readonly connections: readonly ListedConnection[];
  readonly next: number | undefined;
}
