/**
 * A question that is sent along with an event: which of these users have received the event on an open connection.
 */
export interface Ask {
  /** The number of the ask at its origin. */
  readonly attempt: number;
  /** The loop that counts the answers. */
  readonly origin: string;
  /** How long an answer counts. Milliseconds. */
  readonly waitMs: number;
  /** The limit of connections to ask of each user, on all loops together. */
  readonly connectionsMax: number;
  /**
   * How many of these each loop asks at once. It reports the others, and the origin divides what is left among the loops.
   * `undefined`: the origin is a server of an older release, and each loop asks `connectionsMax`.
   */
  readonly atOnce?: number | undefined;
  readonly userIds: AskedUsers;
  /** The event was sent before: only the question is sent to the loops. */
  readonly isAlone?: true;
  /** How many loops of this process got the question as one, and report together. Never sent. `undefined`: this loop alone. */
  readonly loops?: number | undefined;
}

/** `signed-in`: every signed-in user with a connection in the channel. */
export type AskedUsers = readonly string[] | 'signed-in';

/** A report of a loop, or of several that got it as one, to the origin of an ask. */
export type AskReport =
  /**
   * How many connections of each user this loop has asked, not counting away ones. Users without any are left out. Sent
   * once.
   */
  | {
      readonly what: 'asked';
      readonly attempt: number;
      readonly connections: CountsOfUsers;
      readonly others?: OtherConnections | undefined;
      /** Those of more loops of the same process. */
      readonly moreOthers?: readonly OtherConnections[] | undefined;
      /** See `Ask`: this is the part of one of them. */
      readonly loops?: number | undefined;
    }
  /** The first answer of a connection of the user on this loop. */
  | { readonly what: 'answered'; readonly attempt: number; readonly userId: string };

/** Numbers of connections by user. */
export type CountsOfUsers = readonly (readonly [userId: string, connections: number])[];

/** The connections of a loop that it has not asked yet. */
export interface OtherConnections {
  /** The name of the loop. */
  readonly loop: string;
  readonly connections: CountsOfUsers;
}

/** Tells a loop to ask more of its connections. */
export interface AskMore {
  readonly what: 'more';
  readonly attempt: number;
  readonly origin: string;
  readonly waitMs: number;
  readonly appId: string;
  readonly channel: string;
  readonly connections: CountsOfUsers;
}

/** A message about an ask between two loops. It may be lost: users without an answer count as silent. */
export type AskMessage = AskReport | AskMore;

export type SendAskMessage = (loop: string, message: AskMessage) => void;

/** An event for users, and how long their connections have to answer. */
export interface LiveEvent {
  readonly name: string;
  /** As subscribers receive it. */
  readonly data: string;
  /** The channel that it is sent to; `undefined`: the channel of each user. */
  readonly channel: string | undefined;
  readonly userIds: AskedUsers;
  readonly waitMs: number;
  /** The event was sent before, or must not be sent: only the question goes out. */
  readonly isSent?: boolean | undefined;
}

/**
 * `reached`: a connection of the user has answered. `silent`: the user has connections, and none answered in time.
 * `absent`: the user has no connection in the channel.
 */
export type LiveState = 'reached' | 'silent' | 'absent';

/** The result of the event for one user. */
export interface LiveUser {
  readonly userId: string;
  readonly state: LiveState;
  readonly connections: number;
  /** The time from the event to the first answer; `undefined`: no answer. Milliseconds. */
  readonly answeredAfterMs: number | undefined;
}

/** Why an event was not sent, or its result for each user. */
export type LiveAnswer =
  | { readonly skipped: 'app-disabled' | 'over-quota' | 'engine-away' }
  | { readonly users: readonly LiveUser[] };
