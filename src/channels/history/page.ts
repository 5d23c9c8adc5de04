import type { SocketId } from '../socket-id.ts';
import type { EventId } from './event-id.ts';

/** Which events of a history to return, for a backend. */
export type HistoryQuery =
  /** The newest ones, or the newest of those before an event; newest first. */
  | { readonly order: 'newest-first'; readonly before: EventId | undefined; readonly limit: number }
  /** Those after an event, oldest first. */
  | { readonly order: 'oldest-first'; readonly after: EventId; readonly limit: number };

/** An event in a history. */
export interface StoredEvent {
  readonly id: EventId;
  /** As it was sent, with its id. */
  readonly frame: string;
  /** When it was published. Unix time in milliseconds. */
  readonly timeMs: number;
  /** The connection that did not get it. */
  readonly except: SocketId | undefined;
}

export interface HistoryPage {
  readonly events: readonly StoredEvent[];
  /** The newest event of the history, also if it is forgotten, or number 0 before the first one; `undefined`: there is no rule. */
  readonly lastId: EventId | undefined;
  /** Whether further ones are kept in this direction. */
  readonly more: boolean;
  /** Whether nothing is missing between `after` and the first event of this page. */
  readonly complete: boolean;
}

/** Frames of one page, in bytes; the first event is always there. */
export const PAGE_BYTES_MAX = 1_048_576;

/** The page of a channel that keeps no history. */
export const EMPTY_PAGE: HistoryPage = {
  events: [],
  lastId: undefined,
  more: false,
  complete: false,
};
