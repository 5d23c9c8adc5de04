/** An event of an application's outbox, for a realtime loop. */
export interface SourceEvent {
  /** The body of `POST /events`. */
  readonly json: string;
  /** Names the event for repetitions, unless its body does. */
  readonly key: string;
}

/** What became of it: the status and text of a request with this body. Status 0: it was not tried. */
export interface SourceAnswer {
  readonly status: number;
  readonly text: string;
}

/** What one server knows of a source. */
export interface SourceOfServer {
  /** Its place in the setting `sources`. */
  readonly source: number;
  /** Without user, password and parameters. */
  readonly url: string;
  readonly schema: string;
  readonly app: string;
  readonly instance: string | null;
  /** `waiting`: another server follows. `stopped`: this one does not follow, because it starts or stops. */
  readonly state: 'following' | 'waiting' | 'away' | 'stopped';
  /** The age of the oldest row that waits, by the clock of its database. These are `null` until they were read. */
  readonly lagSeconds: number | null;
  /** Counted up to 10,000, like `failed`. */
  readonly waiting: number | null;
  readonly failed: number | null;
  readonly lastFailure: string | null;
  /** Why it cannot be followed, or why its rows wait. */
  readonly why: string;
}
