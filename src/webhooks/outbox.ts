/**
 * The outbox: requests to the addresses of tenants, kept until they are answered or given up. Times are milliseconds
 * since 1970; bytes are those of the body.
 */

/** Each kind is signed, timed and retried in its own way. */
export type OutboxKind =
  /** Events of an app. */
  | 'channels'
  /** Events of a push instance, for its configured endpoints. */
  | 'push'
  /** Progress of one publish, for the address that it names itself. */
  | 'publish';

export type OutboxState = 'waiting' | 'delivered' | 'failed';

/** The result of one attempt. */
export type AttemptOutcome =
  /** Answered with 2xx. */
  | 'delivered'
  /** Answered with anything else. */
  | 'refused'
  /** Not answered in time. */
  | 'timeout'
  /** No name, no connection, no valid certificate, or no HTTP. */
  | 'unreachable'
  /** Not sent: webhooks may not be sent to its address. */
  | 'not-allowed';

/** One request to one endpoint. */
export interface OutboxRequest {
  /** Ids sort by creation time. */
  readonly id: string;
  readonly kind: OutboxKind;
  /** The app or instance it is sent for. */
  readonly ownerId: string;
  /** The address; of the kind `'publish'` without user name and password. */
  readonly url: string;
  /** A short text made of kind, owner and address; equal exactly for requests to the same endpoint. */
  readonly endpoint: string;
  /** The names of its events, each once: `channel_occupied, member_added ×3`. Empty: an older release has stored it. */
  readonly events: string;
  readonly bodyBytes: number;
  readonly createdAtMs: number;
}

export interface NewOutboxRequest extends OutboxRequest {
  readonly body: string;
  /** Another request to the same endpoint; this one is blocked until that one is delivered or has failed. */
  readonly afterId: string | undefined;
  /** The events of the request that several servers may report. */
  readonly repeatable?: RepeatableEvents;
}

export interface RepeatableEvents {
  readonly ids: readonly string[];
  /** Returns the request without the events with these ids; `undefined` if none is left. */
  without(ids: ReadonlySet<string>): NewOutboxRequest | undefined;
}

/** A request that only the claimant may send until the claim ends. */
export interface ClaimedRequest extends OutboxRequest {
  /** Attempts ever made. */
  readonly attempts: number;
  /** Attempts since it was created or last replayed. */
  readonly tries: number;
  /** When the first of these `tries` was made. */
  readonly firstTryAtMs: number | undefined;
  readonly claimedUntilMs: number;
}

/** One attempt to deliver a request, for the log. */
export interface WebhookAttempt {
  /** From 1. */
  readonly number: number;
  readonly atMs: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined;
  /** The first bytes of the answer's body, or why there was no answer. */
  readonly answer: string;
}

/**
 * The end of a claim: the result of an attempt, or a failure without one. A waiting request without an attempt is
 * released, unless another server has claimed it since.
 */
export interface Settlement {
  readonly request: ClaimedRequest;
  readonly attempt: WebhookAttempt | undefined;
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
  /** When the next request is due. Claimed requests are due when their claim ends; infinity if all are blocked. */
  readonly dueAtMs: number;
}

/** How many requests to claim for an endpoint. */
export interface WantedRequests {
  readonly endpoint: string;
  readonly limit: number;
}

export interface OutboxClaimOptions {
  readonly wanted: readonly WantedRequests[];
  readonly nowMs: number;
  /** When the claim ends. */
  readonly untilMs: number;
}

export interface EndpointClaim {
  readonly endpoint: string;
  readonly requests: readonly ClaimedRequest[];
  /** No other request for the endpoint is due before this time; `undefined` if there is none. */
  readonly dueAtMs: number | undefined;
}

/**
 * Keeps requests until they are delivered or have failed. Relied on by the sender in `webhooks`.
 *
 * `write` does all or nothing, in one commit that survives a crash of the process and of the machine. Writing the same
 * again changes nothing, so a caller that got no answer may repeat it. An event whose id is known from an earlier write, of
 * any server, is left out.
 * `claim` returns the requests that are due first, up to `limit` per endpoint. It never returns a request that another
 * caller has claimed, or one that is blocked by its `afterId`.
 *
 * There is no implementation in memory: tests use SQLite's `:memory:`, which is as fast.
 */
export interface Outbox {
  write(requests: readonly NewOutboxRequest[], settled: readonly Settlement[]): Promise<void>;
  claim(options: OutboxClaimOptions): Promise<readonly EndpointClaim[]>;
  /** Releases the claims of these endpoints that end at `untilMs`, after a `claim` whose answer was lost. */
  releaseClaim(endpoints: readonly string[], untilMs: number): Promise<void>;
  /** Releases all claims, of any server: for the start of a process that owns the store. */
  releaseAllClaims(): Promise<void>;
  /**
   * Unblocks requests whose `afterId` is settled. `write` does so as well, but two servers that write both at the
   * same moment do not see each other's rows.
   */
  unblock(): Promise<void>;
  /**
   * Makes requests due at `nowMs` that are due after `beyondMs`, later than any pause: the clock was set back after they
   * failed. Returns whether there were any. Claims and blocked requests are left alone.
   */
  bringForward(nowMs: number, beyondMs: number): Promise<boolean>;
  /** Forgets ids of events that were written before; they are known for this long only. */
  forgetEventIds(writtenBeforeMs: number): Promise<void>;
  body(id: string): Promise<string | undefined>;
  backlog(): Promise<readonly EndpointBacklog[]>;
}

/** A request as the log shows it. */
export interface OutboxEntry extends OutboxRequest {
  readonly state: OutboxState;
  /** Why it is in that state; empty while it waits. */
  readonly reason: string;
  readonly attempts: number;
  /** `undefined` once it is finished, and while it is blocked by another request. */
  readonly nextAttemptAtMs: number | undefined;
  /** `undefined` while it waits. */
  readonly finishedAtMs: number | undefined;
}

export interface OutboxEntryDetails extends OutboxEntry {
  /** The body; of the kind `'publish'` without the user name and password in the publish. */
  readonly body: string;
  /** The oldest first. */
  readonly attemptLog: readonly WebhookAttempt[];
}

export interface OutboxFilter {
  readonly kinds?: readonly OutboxKind[] | undefined;
  readonly ownerId?: string | undefined;
  readonly state?: OutboxState | undefined;
  readonly limit: number;
  /** An id: only older requests. */
  readonly before?: string | undefined;
}

/** Which finished requests the log may delete. */
export interface ForgetOptions {
  readonly finishedBeforeMs: number;
  readonly limit: number;
  /** Only requests of this app or instance. */
  readonly ownerId?: string;
}

/**
 * The log of all requests and their attempts.
 *
 * `list` returns the newest first. `replay` makes a finished request wait again, due now, with no tries used; it does
 * not affect other requests. `forget` deletes finished requests with their attempts, the oldest first, in one commit.
 * `finished` counts what `forget` may delete, by owner.
 */
export interface OutboxLog {
  list(filter: OutboxFilter): Promise<readonly OutboxEntry[]>;
  show(id: string): Promise<OutboxEntryDetails | undefined>;
  replay(id: string, nowMs: number): Promise<OutboxRequest | 'waiting' | 'unknown'>;
  finished(): Promise<readonly FinishedRequests[]>;
  forget(options: ForgetOptions): Promise<{ readonly rows: number; readonly bytes: number }>;
}

/** How much the log keeps of one owner. */
export interface FinishedRequests {
  readonly ownerId: string;
  readonly rows: number;
  readonly bytes: number;
}
