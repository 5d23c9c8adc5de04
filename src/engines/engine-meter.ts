/** What engines count, for metrics. */
export interface EngineMeter {
  count(
    counter:
      | 'engineOutages'
      | 'engineConnectionsLost'
      | 'engineProbesUnanswered'
      | 'engineFollowedAgain'
      | 'engineGaps'
      | 'engineLosses'
      | 'engineLeasesLost'
      | 'engineDataLost'
      | 'engineLeasesSwept'
      | 'enginePublishesRefused'
      | 'engineWaitsGivenUp',
    by?: number,
    label?: string,
  ): void;
  /** Counts an answer by how long it took. */
  observe(histogram: 'engineAnswers', seconds: number): void;
}

/** What an engine is doing now. */
export interface EngineFigures {
  /** Commands or questions without an answer. */
  readonly waiting: number;
  /** How long a Redis server has not been usable; 0 if all are. Seconds. */
  readonly awaySeconds: number;
  /** The events that this loop keeps, and what they count for; `undefined` if the loops keep none. */
  readonly history?: { readonly events: number; readonly bytes: number };
}
