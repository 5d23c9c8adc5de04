import type { SocketId } from '../socket-id.ts';
import type { EventId } from './event-id.ts';

/** Selects events of a history, for a backend. */
export type HistoryQuery =
  /** The newest events, or the newest before a given event. Newest first. */
  | { readonly order: 'newest-first'; readonly before: EventId | undefined; readonly limit: number }
  /** The events after a given event. Oldest first. */
  | { readonly order: 'oldest-first'; readonly after: EventId; readonly limit: number };

/** An event in a history. */
export interface StoredEvent {
  readonly id: EventId;
  /** As it was sent, with its id. */
  readonly frame: string;
  /** When it was published. Unix time in milliseconds. */
  readonly timeMs: number;
  /** The connection that it was not sent to. */
  readonly except: SocketId | undefined;
}

export interface HistoryPage {
  readonly events: readonly StoredEvent[];
  /** The newest event of the history, even if it is forgotten, or number 0 before the first one; `undefined`: there is no rule. */
  readonly lastId: EventId | undefined;
  /** Whether further ones are kept in this direction. */
  readonly more: boolean;
  /** Whether no events are missing between `after` and the first event of this page. */
  readonly complete: boolean;
}

/** The limit of a page in bytes of frames. The first event is always included. */
export const PAGE_BYTES_MAX = 1_048_576;

/** The page of a channel that keeps no history. */
export const EMPTY_PAGE: HistoryPage = {
  events: [],
  lastId: undefined,
  more: false,
  complete: false,
};
