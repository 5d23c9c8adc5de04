/** Who makes the events of a step: backends that trigger, connections that talk, members that come and go. */
export type EventSourceName = 'triggers' | 'client-events' | 'member-changes';

/** One way to make events. Everything that can be is built before the step begins. */
export interface EventSource {
  /** The number of receivers of each event. */
  readonly copies: number;
  /** Events that the server has answered in any way; all sent events if it answers none. */
  readonly answered: number;
  /** The events that the server refused, and its text for the first of them. */
  readonly refused: number;
  readonly firstRefusal: string;
  /** Prepares for this many events, and starts counting at zero. Returns the number of the first one. */
  prepare(events: number, dataBytes: number): number;
  /** Sends the event with this index among those prepared. Each once, in order. */
  send(index: number): void;
}
