/** An event that an application has committed to its outbox. */
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
