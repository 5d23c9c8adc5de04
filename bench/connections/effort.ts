/** How thoroughly to measure connections. Each run is made on a fresh server. */
export interface ConnectionsEffort {
  readonly runs: number;
  /** The measured part of a run in which connections come and go, and what goes before it. */
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** How long a server is left alone before its memory is read. */
  readonly settleSeconds: number;
}

export const thorough: Omit<ConnectionsEffort, 'runs'> = {
  seconds: 6,
  warmupSeconds: 3,
  settleSeconds: 6,
};

export const quick: Omit<ConnectionsEffort, 'runs'> = {
  seconds: 2,
  warmupSeconds: 1,
  settleSeconds: 4,
};
