/** The question that goes with an event: which of these users have the event on an open connection. */
export interface Ask {
  /** Numbers the event at its origin. */
  readonly attempt: number;
  /** Names the loop that counts the answers. */
  readonly origin: string;
  /** How long an answer counts. Milliseconds. */
  readonly waitMs: number;
  /** The connections of one user that are asked, on each loop. */
  readonly connectionsMax: number;
  readonly userIds: AskedUsers;
  /** The event was sent before: nothing but the question goes to the loops. */
  readonly isAlone?: true;
}

/** `signed-in`: every signed-in user with a connection that hears the channel. */
export type AskedUsers = readonly string[] | 'signed-in';

/** What a loop reports to the origin of an ask. */
export type AskReport =
  /** How many connections each user has here, away ones left out; users without any are left out. Sent once. */
  | {
      readonly what: 'asked';
      readonly attempt: number;
      readonly connections: readonly (readonly [userId: string, connections: number])[];
    }
  /** The first answer of a connection of the user on this loop. */
  | { readonly what: 'answered'; readonly attempt: number; readonly userId: string };

/** Sends a report to the loop that an ask names. May lose it: the user then counts as silent. */
export type SendReport = (origin: string, report: AskReport) => void;

/** An event for users, and how long their connections have to answer. */
export interface LiveEvent {
  readonly name: string;
  /** As subscribers get it. */
  readonly data: string;
  /** The one channel that it goes to; `undefined`: the channel of each user. */
  readonly channel: string | undefined;
  readonly userIds: AskedUsers;
  readonly waitMs: number;
  /** The event was sent before, or is not to be sent: nothing but the question goes out. */
  readonly isSent?: boolean | undefined;
}

/**
 * `reached`: a connection of the user has answered. `silent`: the user has connections, and none has answered in time.
 * `absent`: the user has no connection that hears the channel.
 */
export type LiveState = 'reached' | 'silent' | 'absent';

/** What became of the event for one user. */
export interface LiveUser {
  readonly userId: string;
  readonly state: LiveState;
  readonly connections: number;
  /** From the event to the first answer; `undefined`: there was none. Milliseconds. */
  readonly answeredAfterMs: number | undefined;
}

/** Why an event was not sent, or what became of it for each user. */
export type LiveAnswer =
  | { readonly skipped: 'app-disabled' | 'over-quota' | 'engine-away' }
  | { readonly users: readonly LiveUser[] };
