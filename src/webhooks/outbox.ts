/**
 * The outbox: requests on their way to the addresses that tenants gave, kept until they are answered.
 * All times are milliseconds since 1970; bytes are those of the body.
 */

/** What they are; each kind is signed, timed and tried again in its own way. */
export type OutboxKind =
  /** Events of an app. */
  | 'channels'
  /** Events of a push instance, for the endpoints that it is configured with. */
  | 'push'
  /** The course of one publish, for the address that it named itself. */
  | 'publish';

export type OutboxState = 'waiting' | 'delivered' | 'failed';

/** What became of one attempt. */
export type AttemptOutcome =
  /** Answered with 2xx. */
  | 'delivered'
  /** Answered with anything else. */
  | 'refused'
  /** Not answered in time. */
  | 'timeout'
  /** No name, no connection, no valid certificate, or no HTTP. */
  | 'unreachable'
  /** Not sent: its address is one that webhooks may not be sent to. */
  | 'not-allowed';

/** One request to one endpoint. */
export interface OutboxRequest {
  /** Sorts by when it was made. */
  readonly id: string;
  readonly kind: OutboxKind;
  /** The app or instance it is sent for. */
  readonly ownerId: string;
  /** Of the kind `'publish'`, without name and password. */
  readonly url: string;
  /** Kind, owner and address in a short text: requests of one endpoint share it, others never do. */
  readonly endpoint: string;
  readonly bodyBytes: number;
  readonly createdAtMs: number;
}

export interface NewOutboxRequest extends OutboxRequest {
  readonly body: string;
  /** Another request, to the same endpoint: this one is not sent before that one is delivered or given up. */
  readonly afterId: string | undefined;
}

/** A request that the one who claimed it may send until the claim ends. */
export interface ClaimedRequest extends OutboxRequest {
  /** Attempts so far, ever. */
  readonly attempts: number;
  /** Attempts so far since it was made or replayed last. */
  readonly tries: number;
  /** When the first of these `tries` was. */
  readonly firstTryAtMs: number | undefined;
  readonly claimedUntilMs: number;
}

/** One attempt to deliver a request, for the log. */
export interface Attempt {
  /** From 1. */
  readonly number: number;
  readonly atMs: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined;
  /** The first bytes of the answer's body, or why there was none. */
  readonly answer: string;
}

/**
 * What follows from an attempt, or from the finding that a request cannot be sent. Without an attempt, and waiting:
 * the request is given back, unless its claim has ended and somebody else has claimed it since.
 */
export interface Settlement {
  readonly request: ClaimedRequest;
  readonly attempt: Attempt | undefined;
  readonly next:
    | { readonly state: 'waiting'; readonly atMs: number }
    | { readonly state: 'delivered' | 'failed'; readonly atMs: number; readonly reason: string };
}

/** What waits for one endpoint. */
export interface EndpointBacklog {
  readonly endpoint: string;
  readonly rows: number;
  readonly bytes: number;
  readonly oldestAtMs: number;
  /** When the next of them is due; claimed ones are due when their claim ends, infinity where all wait for others. */
  readonly dueAtMs: number;
}

export interface EndpointClaim {
  readonly endpoint: string;
  readonly requests: readonly ClaimedRequest[];
  /** Before this, none that the claim has left is due; `undefined` where it left none. */
  readonly dueAtMs: number | undefined;
}

/**
 * Keeps requests until they are delivered or given up.
 *
 * `write` must do all or nothing, in one commit, and what it has answered must survive the process and the
 * machine. `claim` must never give two callers the same request while a claim lasts, nor one whose `afterId` still
 * waits; it gives those due first, and takes no more than `limit` for each endpoint. What was written once may be written again, where nobody heard
 * that it was. Whoever relies on it: the sender in `webhooks`.
 */
export interface Outbox {
  write(requests: readonly NewOutboxRequest[], settled: readonly Settlement[]): Promise<void>;
  claim(
    wanted: readonly { readonly endpoint: string; readonly limit: number }[],
    nowMs: number,
    untilMs: number,
  ): Promise<readonly EndpointClaim[]>;
  /** Ends the claims of these endpoints that last until then: for whoever never heard what it had claimed. */
  releaseLostClaim(endpoints: readonly string[], untilMs: number): Promise<void>;
  /** Ends every claim, whoever holds it: for the start of a process that has the store to itself. */
  releaseClaims(): Promise<void>;
  /**
   * Lets go what waits for a request that is over: where several servers use the outbox, two may have written both
   * at the same moment, and neither has seen the other.
   */
  releaseHeld(): Promise<void>;
  body(id: string): Promise<string | undefined>;
  backlog(): Promise<readonly EndpointBacklog[]>;
}

/** A request as the log shows it. */
export interface OutboxEntry extends OutboxRequest {
  readonly state: OutboxState;
  /** Why it is in that state; empty while it waits. */
  readonly reason: string;
  readonly attempts: number;
  /** `undefined` unless it waits, and while it waits for another request. */
  readonly nextAttemptAtMs: number | undefined;
  /** `undefined` while it waits. */
  readonly finishedAtMs: number | undefined;
}

export interface OutboxEntryDetails extends OutboxEntry {
  /** Of the kind `'publish'`, without the name and password that the publish named. */
  readonly body: string;
  /** In the order in which they were made. */
  readonly attemptLog: readonly Attempt[];
}

export interface OutboxFilter {
  readonly kinds?: readonly OutboxKind[] | undefined;
  readonly ownerId?: string | undefined;
  readonly state?: OutboxState | undefined;
  readonly limit: number;
  /** An id: only older requests. */
  readonly before?: string | undefined;
}

/**
 * What was sent and what became of it.
 *
 * `list` gives the newest first. `replay` makes a finished request wait again, due now and with all its
 * tries ahead; what it does to others is nothing. `forget` deletes finished requests with their attempts,
 * those finished longest ago first, never one that waits, and no more than `limit` in one commit; of one owner where
 * that is given. `finished` counts what may be forgotten, by owner.
 */
export interface OutboxLog {
  list(filter: OutboxFilter): Promise<readonly OutboxEntry[]>;
  show(id: string): Promise<OutboxEntryDetails | undefined>;
  replay(id: string, nowMs: number): Promise<OutboxRequest | 'waiting' | 'unknown'>;
  finished(): Promise<readonly FinishedRequests[]>;
  forget(
    finishedBeforeMs: number,
    limit: number,
    ownerId?: string,
  ): Promise<{ readonly rows: number; readonly bytes: number }>;
}

/** How much the log keeps of one owner. */
export interface FinishedRequests {
  readonly ownerId: string;
  readonly rows: number;
  readonly bytes: number;
}
