import type { CachedEvent, ChannelCounts, Member } from '../../channels/ports.ts';
import type { ProblemGroup } from '../../channels/problem-book.ts';

/** One open connection of this server. */
export interface ListedConnection {
  readonly socketId: string;
  readonly user: string | undefined;
  readonly address: string;
  readonly transport: string;
  /** What the client says of itself. */
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
}

export interface ConnectionFilter {
  readonly appId: string;
  readonly user?: string | undefined;
  readonly channel?: string | undefined;
  readonly address?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Shows single channels and connections, and what goes wrong. Throws `OperationRefused` if a realtime loop or the engine does not answer. */
export interface Inspecting {
  /** Host and port of this server. */
  readonly serverName: string;
  /** What is known of a channel, on all servers. */
  channel(
    appId: string,
    channel: string,
  ): Promise<{
    readonly counts: ChannelCounts;
    readonly members: readonly Member[];
    readonly cached: CachedEvent | undefined;
  }>;
  /** Connections of this server. There may be fewer than `limit` although there are more. */
  connections(filter: ConnectionFilter): Promise<{
    readonly connections: readonly ListedConnection[];
    readonly next: string | undefined;
  }>;
  /** What clients and backends of an app did wrong on this server since its start. */
  problems(appId: string): Promise<readonly ProblemGroup[]>;
  connection(appId: string, socketId: string): Promise<ConnectionDetails | undefined>;
  /** Ends a connection; `false` if this server has no such connection. */
  end(appId: string, socketId: string): Promise<boolean>;
}
