import type { UnreadableMessagesOptions } from '../runtime/unreadable.ts';

/** What engines count, for metrics. */
export interface EngineMeter {
  readonly count: UnreadableMessagesOptions['meter']['count'] & {
    (counter: 'engineConnectionsLost', by: number, kind: 'commands' | 'subscriptions'): void;
    (counter: 'engineRedirects', by: number, kind: 'moved' | 'moving' | 'down'): void;
    (
      counter:
        | 'engineOutages'
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
    ): void;
  };
  /** Counts an answer by how long it took in seconds, or a call by how many events it has. */
  observe(histogram: 'engineAnswers' | 'engineBatchEvents', value: number): void;
}

/** The present state of an engine, for metrics. */
export interface EngineFigures {
  /** Commands or questions in flight. */
  readonly waiting: number;
  /** How long a Redis server has been unusable; 0 if all work. Seconds. */
  readonly awaySeconds: number;
  /** Redis servers, or masters of a cluster, that hold the state; `undefined`: none. */
  readonly masters?: number;
  /** The number and size of the events that this loop keeps; `undefined` if loops keep none. */
  readonly history?: { readonly events: number; readonly bytes: number };
}
