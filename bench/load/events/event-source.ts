/** Who makes the events of a step: backends that trigger, connections that talk, members that come and go. */
export type EventSourceName = 'triggers' | 'client-events' | 'member-changes';

/** One way to make events. Everything that can be is built before the step begins. */
export interface EventSource {
  /** How many hear each event. */
  readonly copies: number;
  /** Events that the server has answered, in whatever way; all that were sent where it answers none. */
  readonly answered: number;
  /** Those of them that it refused, and what it said to the first. */
  readonly refused: number;
  readonly firstRefusal: string;
  /** Gets ready for so many events, and starts counting from zero. Gives the number of the first. */
  prepare(events: number, dataBytes: number): number;
  /** Sends the event with this index among those prepared. Each once, in order. */
  send(index: number): void;
}
