import type { ChannelText } from '../../channels/channel-name.ts';
import { type EventId, newEventId, numberOf } from '../../channels/history/event-id.ts';
import type { SocketId } from '../../channels/socket-id.ts';

/** Forgotten events at the front of the array that make it worth copying. */
const FORGOTTEN_MAX = 64;

/**
 * The last events of one channel, oldest first. Their numbers have no gaps.
 *
 * A client may go on after an event that is kept, or after the one that was forgotten last. After any other place something
 * may be missing, so it is none.
 */
export class ChannelHistory {
  readonly channel: ChannelText;
  /** The event before the first kept one: the one that was forgotten last, or number 0. */
  before: EventId;
  bytes = 0;
  private events: (KeptEvent | undefined)[] = [];
  /** The first of `events` that is not forgotten. */
  private first = 0;
  private lastNumber: number;

  constructor(channel: ChannelText, before = newEventId(0)) {
    this.channel = channel;
    this.before = before;
    this.lastNumber = numberOf(before);
  }

  get size(): number {
    return this.events.length - this.first;
  }

  get oldest(): KeptEvent | undefined {
    return this.events[this.first];
  }

  /** The id of the newest event, also if it is forgotten. */
  get newest(): EventId {
    return this.events[this.events.length - 1]?.id ?? this.before;
  }

  /** Makes the id of the next event. The caller then calls `append` or `skip` with it. */
  nextId(): EventId {
    return newEventId(this.lastNumber + 1);
  }

  append(event: KeptEvent): void {
    this.events.push(event);
    this.bytes += event.bytes;
    this.lastNumber = numberOf(event.id);
  }

  /** Numbers an event that cannot be kept. Nothing before it may be kept either. */
  skip(id: EventId): void {
    this.before = id;
    this.lastNumber = numberOf(id);
  }

  /** Forgets the oldest event. */
  shift(): KeptEvent | undefined {
    const event = this.events[this.first];
    if (event === undefined) return undefined;
    this.before = event.id;
    this.bytes -= event.bytes;
    this.events[this.first] = undefined;
    this.first++;
    if (this.first === this.events.length || this.first > Math.max(FORGOTTEN_MAX, this.size)) {
      this.events = this.events.slice(this.first);
      this.first = 0;
    }
    return event;
  }

  /** Returns how many kept events are not after this place; `undefined` if it is no place to go on from. */
  countUpTo(id: EventId): number | undefined {
    if (id === this.before) return 0;
    const oldest = this.oldest;
    if (oldest === undefined) return undefined;
    const index = numberOf(id) - numberOf(oldest.id);
    return this.at(index)?.id === id ? index + 1 : undefined;
  }

  /** Returns a kept event, counted from the oldest. */
  at(index: number): KeptEvent | undefined {
    return index < 0 ? undefined : this.events[this.first + index];
  }
}

/** What an event takes beside its frame. Bytes. */
const EVENT_BYTES = 200;

/** An event in a history. It is a link of the list of all kept events of its app, which is in their order. */
export class KeptEvent {
  readonly id: EventId;
  /** As it was sent, with its id. */
  readonly frame: string;
  /** When it was published. */
  readonly timeMs: number;
  /** The connection that did not get it. */
  readonly except: SocketId | undefined;
  /** What it counts for. */
  readonly bytes: number;
  readonly history: ChannelHistory;
  older: KeptEvent | undefined = undefined;
  newer: KeptEvent | undefined = undefined;

  constructor(
    history: ChannelHistory,
    event: Pick<KeptEvent, 'id' | 'frame' | 'timeMs' | 'except'>,
  ) {
    this.history = history;
    this.id = event.id;
    this.frame = event.frame;
    this.timeMs = event.timeMs;
    this.except = event.except;
    this.bytes = keptBytes(event.frame);
  }
}

/**
 * Returns what the event of a frame counts for: about what it takes in memory. A text with any character beyond ASCII may take
 * two bytes for each of its characters.
 */
export function keptBytes(frame: string): number {
  const isAscii = Buffer.byteLength(frame) === frame.length;
  return EVENT_BYTES + (isAscii ? frame.length : 2 * frame.length);
}
