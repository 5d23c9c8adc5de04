/** An event that users get in the app, in addition to the notifications for their devices. */
export interface LiveRequest {
  readonly event: string;
  /** As subscribers get it. */
  readonly data: string;
  /** The one channel that the event goes to; `undefined`: the channel of each user. */
  readonly channel: string | undefined;
  /** How long connections have to answer. */
  readonly waitSeconds: number;
  /** The event was sent before, and is not sent again. */
  readonly isSent?: boolean | undefined;
  /** Who gets notifications: those who were not reached in the app, or everybody. */
  readonly push: 'absent' | 'always';
}

/**
 * `scheduled`: the publish is not due yet. `asking`: connections are asked until the deadline. `done`: their answers are
 * stored. `skipped`: nobody was asked, or the answers are lost, so everybody gets notifications.
 */
export type LivePhase = 'scheduled' | 'asking' | 'done' | 'skipped';

/** Why everybody gets notifications although the publish has a live part. */
export type LiveSkip =
  | 'app-disabled'
  | 'over-quota'
  | 'engine-away'
  /** The server has too many live publishes at once. */
  | 'too-many'
  /** The instance has no app any more, or today's rules refuse the live part. */
  | 'not-allowed'
  /** No result was stored in time: the server stopped, or its realtime loop was stuck. */
  | 'no-result';

/** The live result for a user. */
export type LiveUserState = 'reached' | 'silent' | 'absent';

export interface LiveUserResult {
  readonly userId: string;
  readonly state: LiveUserState;
  readonly connections: number;
  /** The time from the event to the first answer; `undefined`: no answer. Milliseconds. */
  readonly answeredAfterMs: number | undefined;
}

/** The live result of one user, with the time at which it was stored. */
export interface StoredLiveUser extends LiveUserResult {
  readonly atMs: number;
}

/** The result of the live part of a publish. */
export type LiveResult =
  | { readonly users: readonly LiveUserResult[] }
  | { readonly skipped: LiveSkip };

/** How far the live part of a publish has come. */
export interface LiveStatus {
  readonly state: LivePhase;
  readonly push: LiveRequest['push'];
  readonly waitSeconds: number;
  readonly users: number;
  readonly reached: number;
  readonly silent: number;
  readonly absent: number;
  /** The connections that were asked. */
  readonly connections: number;
  readonly why: LiveSkip | undefined;
}

/**
 * This long after the deadline of an ask, planning starts by itself, as the server that asked may have crashed.
 * Milliseconds.
 */
export const LIVE_GRACE_MS = 2_000;
