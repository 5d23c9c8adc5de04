import type { MaybePromise } from '../../../channels/maybe-promise.ts';
import type { PackedAddress } from '../../clients/addresses/packed-address.ts';
import type { SentMessages } from '../fallback-connection.ts';
import type { Outlet } from '../receiver.ts';
import type { ResponseEnded } from '../response-end.ts';

/** A request that receives messages of a session. */
export interface ReceiveRequest {
  /** See `SessionPath`. */
  readonly session: string;
  readonly key: string;
  readonly query: string;
  /** See `Introduction`. */
  readonly origin?: string | undefined;
  readonly isStream: boolean;
  /** The place of the request among those of the page. */
  readonly number: number | undefined;
  readonly address: PackedAddress;
}

/** A request with messages of a client. */
export interface SessionSendRequest extends SentMessages {
  readonly session: string;
  readonly number: number | undefined;
}

/** Why messages of a client were not taken. */
export type Loss = 'too-large' | 'not-received';

/** Where a session lives: on this loop, or behind a link to another one. */
export interface SessionHome {
  /** Answers through the outlet. Returns what must be called when the response has ended. */
  receive(request: ReceiveRequest, outlet: Outlet): ResponseEnded;
  /** Returns the id of the session's app; `undefined`: no such session is open. */
  appOf(session: string): string | undefined | Promise<string | undefined>;
  /** Takes messages; those of an unknown session are lost. */
  send(request: SessionSendRequest): void;
  /** Ends a session whose client sent messages that were refused: the client does not look at the status. */
  lost(session: string, why: Loss): void;
}

/** Locates sessions. */
export interface SessionHomes {
  /** Returns who answers a receive request; the session may be new. Never rejects. */
  receivingAt(request: ReceiveRequest): MaybePromise<SessionHome>;
  /** Returns who may know a session; `undefined`: it is known nowhere. `address`: whose request it is. Never rejects. */
  knowing(session: string, address: PackedAddress): MaybePromise<SessionHome | undefined>;
  /**
   * Calls back when the receive requests that have arrived at other loops by now are known to the homes of their
   * sessions.
   */
  afterArrivals(run: () => void): void;
}

/** The home of sessions that live on this loop. */
export interface LocalHome extends SessionHome {
  appOf(session: string): string | undefined;
}

/** The sessions of one loop. */
export interface LocalSessions extends LocalHome {
  /** Whether a session is known here, open or not. */
  has(session: string): boolean;
  /** The sessions that are open, or that have closed a moment ago. */
  names(): readonly string[];
  /** Whether a receive request of a session that is unknown here may open one, judged without asking other loops. */
  mayOpen(request: ReceiveRequest): boolean;
}
