import type { EventOutbox } from '../event-outbox.ts';
import type { EventPartition, PlainEvent, WaitingEvents } from '../waiting-events.ts';

/** The outbox of all loops of a process. They name a partition by what its keys and streams begin with. */
export class ProcessOutbox implements WaitingEvents {
  private readonly outbox: EventOutbox;
  private readonly partitions = new Map<string, EventPartition>();

  constructor(outbox: EventOutbox) {
    this.outbox = outbox;
  }

  get waiting(): number {
    return this.outbox.waiting;
  }

  add(partition: EventPartition, event: PlainEvent): Promise<void> {
    return this.outbox.add(this.known(partition), event);
  }

  sendBefore(partition: EventPartition, appId: string): void {
    this.outbox.sendBefore(this.known(partition), appId);
  }

  sendAll(): void {
    this.outbox.sendAll();
  }

  private known(one: EventPartition): EventPartition {
    return this.partitions.get(one.keys) ?? this.partition(one.keys, one.streamOf(''));
  }

  /** The partition with these prefixes: the same one for all loops, so that their events are one group. */
  partition(keys: string, streams: string): EventPartition {
    let partition = this.partitions.get(keys);
    if (partition === undefined) {
      partition = { keys, streamOf: (topic) => `${streams}${topic}` };
      this.partitions.set(keys, partition);
    }
    return partition;
  }
}
