/** Who sent a request to the admin API, as far as the listener knows. What they may do is decided elsewhere. */
export interface Caller {
  /**
   * `password`: the password, or a session that began with it. `proxy`: a trusted proxy has checked the user.
   * `local`: a program on this machine, which may read metrics. `nobody`: an anonymous caller.
   */
  readonly how: 'password' | 'proxy' | 'local' | 'nobody';
  /** The name that the proxy gave; `null` otherwise. */
  readonly user: string | null;
  /** The groups that the proxy gave. */
  readonly groups: readonly string[];
}

export const NOBODY: Caller = { how: 'nobody', user: null, groups: [] };

/** A client that has shown the password. */
export const OWNER: Caller = { how: 'password', user: null, groups: [] };

/** A program on this machine. */
export const LOCAL: Caller = { how: 'local', user: null, groups: [] };
