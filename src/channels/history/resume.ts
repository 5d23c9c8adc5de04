import type { EventId } from './event-id.ts';

/** A client's position when it subscribes, if it can resume. */
export interface ResumePlace {
  /** The last event that it has. `none`: none yet. `unknown`: the client sent an invalid id. */
  readonly after: EventId | 'none' | 'unknown';
  /** The ids of its earlier connections since that event. It does not get events that excluded one of them. */
  readonly socketIds: readonly string[];
}

/** What a new connection in a channel wants from the history. */
export interface HistoryRequest {
  /** `undefined`: the client cannot resume. */
  readonly place: ResumePlace | undefined;
  /** The limit of frames to send. Bytes. */
  readonly roomBytes: number;
}

/** Why a client cannot get everything after its position. */
export type GapReason =
  /** The position is not in the history. */
  | 'forgotten'
  /** The client missed more than may be sent at once. */
  | 'too-much'
  /** The engine keeps no history. */
  | 'unavailable';

/** What a new connection in a channel gets from the history. */
export interface FoundHistory {
  /** The newest event; `''` if there is no history. */
  readonly id: EventId | '';
  /** `begun`: it had no position yet. `undefined`: it cannot resume. */
  readonly outcome: 'resumed' | 'begun' | GapReason | undefined;
  /** The frames after its confirmation: all events that it missed or, if it does not resume, the last events. */
  readonly frames: readonly string[];
}

/** The part of a confirmation for clients that can resume. */
export type ResumeAnswer =
  | { readonly ok: true; readonly id: string; readonly missed: number }
  | { readonly ok: false; readonly id: string; readonly missed: 0; readonly why: GapReason };

/** Returns the confirmation's part about resuming; `undefined` for a client that cannot resume. */
export function resumeAnswer({ id, outcome, frames }: FoundHistory): ResumeAnswer | undefined {
  switch (outcome) {
    case undefined:
      return undefined;
    case 'resumed':
      return { ok: true, id, missed: frames.length };
    case 'begun':
      return { ok: true, id, missed: 0 };
    default:
      return { ok: false, id, missed: 0, why: outcome };
  }
}
