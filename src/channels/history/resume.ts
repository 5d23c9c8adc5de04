import type { EventId } from './event-id.ts';

/** Where a client that can resume was when it subscribes. */
export interface ResumePlace {
  /** The last event that it has. `none`: it has none yet. `unknown`: it sent something that is no id. */
  readonly after: EventId | 'none' | 'unknown';
  /** The ids of its connections since then: it does not get the events that excluded one of them. */
  readonly socketIds: readonly string[];
}

/** What a connection that enters a channel asks of the history. */
export interface HistoryRequest {
  /** `undefined`: a client that cannot resume. */
  readonly place: ResumePlace | undefined;
  /** How many bytes of frames it may be sent. */
  readonly roomBytes: number;
}

/** Why a client cannot get everything after its place. */
export type GapReason =
  /** The place is not in the history. */
  | 'forgotten'
  /** It missed more than may be sent at once. */
  | 'too-much'
  /** The engine keeps no history. */
  | 'unavailable';

/** What a connection gets from the history of a channel that it has entered. */
export interface FoundHistory {
  /** The newest event; `''` if there is no history. */
  readonly id: EventId | '';
  /** `begun`: it had no place yet. `undefined`: it cannot resume. */
  readonly outcome: 'resumed' | 'begun' | GapReason | undefined;
  /** The frames that follow its confirmation: all that it missed, or the last events for one that does not resume. */
  readonly frames: readonly string[];
}

/** What a confirmation says to a client that can resume. */
export type ResumeAnswer =
  | { readonly ok: true; readonly id: string; readonly missed: number }
  | { readonly ok: false; readonly id: string; readonly missed: 0; readonly why: GapReason };

/** Returns what the confirmation says; `undefined` for a client that cannot resume. */
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
