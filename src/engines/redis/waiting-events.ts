/** The partition of an event. */
export interface EventPartition {
  /** The prefix of its keys. */
  readonly keys: string;
  streamOf(topic: string): string;
}

/** An event of which Redis remembers nothing but what others may have missed. */
export interface PlainEvent {
  readonly appId: string;
  readonly topic: string;
  /** See `eventText`. */
  readonly message: string;
}

/** Where events wait to be published. */
export interface WaitingEvents {
  /** Events that wait for a call. */
  readonly waiting: number;
  /** Publishes an event once. Rejects if it was not published, or if that is not known. */
  add(partition: EventPartition, event: PlainEvent): Promise<void>;
  /** Sends what an app has waiting in a partition, because something follows that must come after it. */
  sendBefore(partition: EventPartition, appId: string): void;
  /** Sends all that waits. */
  sendAll(): void;
}
