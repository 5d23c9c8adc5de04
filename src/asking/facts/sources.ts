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

/** What all servers together know of a source. */
export interface SourceOfCluster extends Omit<SourceOfServer, 'state' | 'why'> {
  /** The server that follows it; `null`: none. */
  readonly follower: string | null;
  readonly servers: readonly (Pick<SourceOfServer, 'state' | 'why'> & {
    readonly server: string;
  })[];
}
