import type { HistoryPage, HistoryQuery } from '../../channels/history/page.ts';
import type { CachedEvent, ChannelCounts, Member } from '../../channels/ports.ts';
import type { ProblemGroup } from '../../channels/problems/problem-book.ts';

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
}

export interface ConnectionFilter {
  readonly appId: string;
  readonly user?: string | undefined;
  readonly channel?: string | undefined;
  readonly address?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A server that was asked, and whether it did not answer. */
export interface AskedServer {
  readonly name: string;
  readonly away: boolean;
}

/** An answer for all servers that act as one, with those that were asked. */
export interface OfAllServers {
  readonly servers: readonly AskedServer[];
}

/** What is of one server. */
export interface OfServer {
  /** Host and port of the server. */
  readonly server: string;
}

/**
 * Shows single channels and connections, and what goes wrong, on all servers. Throws `OperationRefused` if a realtime loop or
 * the engine does not answer.
 */
export interface Inspecting {
  channel(
    appId: string,
    channel: string,
  ): Promise<{
    readonly counts: ChannelCounts;
    readonly members: readonly Member[];
    readonly cached: CachedEvent | undefined;
  }>;
  /** The kept events of a channel; none if it keeps no history. */
  history(appId: string, channel: string, query: HistoryQuery): Promise<HistoryPage>;
  forgetHistory(appId: string, channel: string): Promise<void>;
  /** There may be fewer connections than `limit` although there are more. */
  connections(filter: ConnectionFilter): Promise<
    OfAllServers & {
      readonly connections: readonly (ListedConnection & OfServer)[];
      readonly next: string | undefined;
    }
  >;
  /** What clients and backends of an app did wrong since the start of each server. */
  problems(
    appId: string,
  ): Promise<OfAllServers & { readonly problems: readonly (ProblemGroup & OfServer)[] }>;
  /** `server`: the one that has it, if that is known. */
  connection(
    appId: string,
    socketId: string,
    server?: string,
  ): Promise<OfAllServers & { readonly found: (ConnectionDetails & OfServer) | undefined }>;
  /** Ends a connection. */
  end(appId: string, socketId: string): Promise<OfAllServers & { readonly isFound: boolean }>;
}
